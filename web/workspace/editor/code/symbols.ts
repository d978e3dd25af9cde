import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { SyntaxNode, Tree } from "@lezer/common";
import type { DocumentSymbol } from "../../state/tabs/active-editor.ts";

const PARSE_MS = 200;
const MAX_SYMBOLS = 5000;
const MAX_NAME = 120;

// Finds symbols in the syntax tree of the text, so that it needs no language server. A language without a tree has none.
export function symbolsOf(state: EditorState): DocumentSymbol[] {
  const tree: Tree = ensureSyntaxTree(state, state.doc.length, PARSE_MS) ?? syntaxTree(state);
  const symbols: DocumentSymbol[] = [];
  // Where the enclosing symbols end.
  const ends: number[] = [];
  tree.iterate({
    enter(node) {
      if (symbols.length >= MAX_SYMBOLS) return false;
      const found = describe(node.node, state);
      if (!found) return;
      while (ends.length > 0 && (ends.at(-1) ?? 0) <= node.from) ends.pop();
      symbols.push({ ...found, depth: found.depth ?? ends.length });
      ends.push(node.to);
    },
  });
  return symbols;
}

type Found = Omit<DocumentSymbol, "depth"> & { depth?: number };

function describe(node: SyntaxNode, state: EditorState): Found | null {
  const heading = /^(?:ATX|Setext)Heading(\d)$/.exec(node.name);
  if (heading) {
    const text = state.sliceDoc(node.from, node.to).split("\n", 1)[0] ?? "";
    const name = text.replace(/^#+\s*|\s*#+\s*$/g, "");
    return { ...located(state, node.from), name, kind: "heading", depth: Number(heading[1]) - 1 };
  }
  const rule = RULES[node.name];
  if (!rule) return null;
  const nameNode = findName(node, rule.names);
  const name = nameNode && state.sliceDoc(nameNode.from, Math.min(nameNode.to, nameNode.from + MAX_NAME));
  if (!nameNode || !name || (rule.when && !rule.when(node))) return null;
  return {
    ...located(state, nameNode.from),
    length: nameNode.to - nameNode.from,
    name: name.replace(/^"|"$/g, "").replace(/\s+/g, " "),
    kind: rule.kind,
  };
}

interface Rule {
  kind: string;
  // The nodes that hold the name. The first one that exists counts; a path leads through inner nodes.
  names: string[];
  when?: (node: SyntaxNode) => boolean;
}

const isTopLevel = (node: SyntaxNode): boolean => node.parent?.parent == null || /^(Export|JsonText)/.test(node.parent.name);
const holdsFunction = (node: SyntaxNode): boolean =>
  node.getChild("ArrowFunction") !== null || node.getChild("FunctionExpression") !== null || isTopLevel(node);
const isTopProperty = (node: SyntaxNode): boolean => node.parent?.parent?.name === "JsonText";

// By the name of the syntax node. Languages that share a name have the same kind.
const RULES: Record<string, Rule> = {
  FunctionDeclaration: { kind: "function", names: ["VariableDefinition", "Definition"] },
  FunctionDefinition: {
    kind: "function",
    names: ["VariableName", "Name", "FunctionDeclarator/Identifier", "PointerDeclarator/FunctionDeclarator/Identifier"],
  },
  FunctionDecl: { kind: "function", names: ["DefName"] },
  FunctionItem: { kind: "function", names: ["BoundIdentifier"] },
  MethodDeclaration: { kind: "method", names: ["PropertyDefinition", "PrivatePropertyDefinition", "Definition", "Name"] },
  MethodDecl: { kind: "method", names: ["FieldName"] },
  VariableDeclaration: { kind: "variable", names: ["VariableDefinition"], when: holdsFunction },
  ClassDeclaration: { kind: "class", names: ["VariableDefinition", "Definition", "Name"] },
  ClassDefinition: { kind: "class", names: ["VariableName"] },
  ClassSpecifier: { kind: "class", names: ["TypeIdentifier"] },
  StructSpecifier: { kind: "struct", names: ["TypeIdentifier"] },
  StructItem: { kind: "struct", names: ["TypeIdentifier"] },
  InterfaceDeclaration: { kind: "interface", names: ["TypeDefinition", "Definition", "Name"] },
  TraitItem: { kind: "trait", names: ["TypeIdentifier"] },
  ImplItem: { kind: "impl", names: ["TypeIdentifier", "GenericType"] },
  TypeAliasDeclaration: { kind: "type", names: ["TypeDefinition"] },
  TypeSpec: { kind: "type", names: ["DefName"] },
  EnumDeclaration: { kind: "enum", names: ["TypeDefinition", "Definition", "Name"] },
  EnumItem: { kind: "enum", names: ["TypeIdentifier"] },
  Property: { kind: "property", names: ["PropertyName"], when: isTopProperty },
  RuleSet: {
    kind: "rule",
    names: ["ClassSelector", "IdSelector", "TagSelector", "PseudoClassSelector", "DescendantSelector", "ChildSelector"],
  },
};

function findName(node: SyntaxNode, names: string[]): SyntaxNode | null {
  for (const path of names) {
    const found = path.split("/").reduce<SyntaxNode | null>((at, name) => at?.getChild(name) ?? null, node);
    if (found) return found;
  }
  return null;
}

function located(state: EditorState, position: number): { line: number; column: number } {
  const line = state.doc.lineAt(position);
  return { line: line.number, column: position - line.from + 1 };
}
