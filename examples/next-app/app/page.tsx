import { headers } from "next/headers";
import { berthUrl } from "../lib/berth.ts";
import { userOf } from "../lib/login.ts";
import { news } from "../lib/news.ts";
import { Workspace } from "./workspace.tsx";

export default async function Page({ searchParams }: { searchParams: Promise<{ wrong?: string }> }) {
  const user = userOf((await headers()).get("cookie"));
  if (user === undefined) return <Login isWrong={(await searchParams).wrong !== undefined} />;
  return (
    <>
      <header>
        <strong>Acme Academy</strong> <span>Lesson 1: say hello</span> <span>{news.get(user) ?? "Nothing has happened yet"}</span> {user}
      </header>
      <Workspace berthUrl={berthUrl} />
    </>
  );
}

const Login = ({ isWrong }: { isWrong: boolean }) => (
  <form method="post" action="/login">
    <h1>Acme Academy</h1>
    <label>
      Name <input name="user" autoComplete="username" required />
    </label>
    <label>
      Password <input name="password" type="password" autoComplete="current-password" required />
    </label>
    <button>Sign in</button>
    <small>{isWrong ? "The name or the password is wrong." : "Try “ada” with “engine”, or “grace” with “compiler”."}</small>
  </form>
);
