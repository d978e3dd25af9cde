import { sessionsSuite } from "./sessions.suite.ts";
import { openTestSessions } from "./testing/test-sessions.ts";

sessionsSuite("the session service on SQLite", openTestSessions);
