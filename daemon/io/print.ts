// Sentences and commands of the setup itself, apart from the output of the programs that it runs.
export const print = (sentence: string): void => void process.stdout.write(`\x1b[1m${sentence}\x1b[0m\n`);

export const printCommand = (words: readonly string[]): void => void process.stdout.write(`\x1b[2m$ ${words.join(" ")}\x1b[0m\n`);
