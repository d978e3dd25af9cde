import { sessionsSuite } from "./sessions.suite.ts";
import { openTestSessions } from "./testing.ts";

sessionsSuite("the session service on SQLite", openTestSessions);
