// Written by scripts/wire-types.ts from the OpenAPI description.
export interface components {
    schemas: {
        AgentMessage: {
            type: "conversation";
            conversation: components["schemas"]["Conversation"];
        } | {
            type: "item";
            /** The conversation. */
            conversationId: string;
            item: components["schemas"]["ConversationItem"];
        } | {
            type: "append";
            /** The conversation. */
            conversationId: string;
            itemId: string;
            text: string;
        } | {
            type: "turn";
            /** The conversation. */
            conversationId: string;
            stopReason: "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled" | "error";
            /** With `error`: one of the codes in docs/errors.md, such as `model_key_refused`. */
            code?: string;
            /** With `error`: the problem, for people. */
            message?: string;
        } | {
            type: "agent";
            agent: components["schemas"]["AgentState"];
        };
        Conversation: {
            /** The identifier of the conversation. */
            id: string;
            /** The first line of the first prompt, until the agent sets a title or a person renames the conversation. */
            title: string;
            /** Whether a person has chosen the title. */
            renamed: boolean;
            /** When it was created, as a Unix timestamp in milliseconds. */
            createdAtMs: number;
            /** When it was last used, as a Unix timestamp in milliseconds. */
            updatedAtMs: number;
            /** Whether a turn is in progress, so that prompts are refused. */
            busy: boolean;
            /** The tokens that it has used; null if unknown. */
            usage: components["schemas"]["AgentUsage"] | null;
            /** The agent's modes; null if it has none. */
            modes: {
                current: string;
                available: {
                    id: string;
                    name: string;
                    description?: string;
                }[];
            } | null;
            /** The models that the agent offers; null if it offers none, or if the server decides about the model. */
            models: {
                current: string;
                available: {
                    id: string;
                    name: string;
                    description?: string;
                }[];
            } | null;
            /** The agent's other options, such as how long it thinks. */
            options: ({
                id: string;
                name: string;
                description?: string;
                type: "choice";
                current: string;
                available: {
                    id: string;
                    name: string;
                    description?: string;
                }[];
            } | {
                id: string;
                name: string;
                description?: string;
                type: "boolean";
                current: boolean;
            })[];
            /** A prompt can start with `/` and the name of one of them. */
            commands: {
                name: string;
                description: string;
                /** What to write after the name. */
                hint?: string;
            }[];
            /** Prompts from the workspace that wait for the end of the turn. */
            queue: {
                id: string;
                text: string;
                context?: {
                    path: string;
                    selection?: {
                        fromLine: number;
                        toLine: number;
                        text: string;
                    };
                }[];
                images?: string[];
            }[];
            /** Why the turn in progress waits for its model; null if it does not. */
            modelWait: {
                /** `model_slow`: no answer for two seconds. Otherwise an error, after which the agent may try again. */
                code: string;
                /** The number of the next attempt. */
                attempt?: number;
                /** The last attempt, after which the turn fails. */
                attempts?: number;
            } | null;
            /** The actions that a person has allowed for the whole conversation, such as `running commands`. */
            alwaysAllowed: string[];
            /** The rules that decide about permissions now: those of the run that works here, then those of the template. */
            rules: {
                tool: "read" | "edit" | "delete" | "move" | "search" | "shell" | "fetch" | "other" | "*";
                path?: string;
                command?: string;
                allow: boolean;
            }[];
        };
        /** What the agent reports; fields that it does not report are absent. */
        AgentUsage: {
            /** The tokens in the model's context. */
            contextUsed?: number;
            /** The size of the model's context. */
            contextSize?: number;
            /** The input tokens of all turns. */
            inputTokens?: number;
            /** The output tokens of all turns. */
            outputTokens?: number;
            /** What the conversation has cost. */
            cost?: {
                amount: number;
                currency: string;
            };
        };
        /** `kind` decides about the other fields. Ignore kinds that you do not know. */
        ConversationItem: {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "user";
            text: string;
            context?: {
                path: string;
                selection?: {
                    fromLine: number;
                    toLine: number;
                    text: string;
                };
            }[];
            images?: string[];
            /** The files of the workspace at one moment. */
            checkpoint?: {
                /** null if they could not be copied. */
                id: string | null;
                /** Why not, or which files it leaves out. For people. */
                note?: string;
            };
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "assistant";
            text: string;
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "thought";
            text: string;
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "tool";
            title: string;
            toolKind: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
            status: "pending" | "running" | "completed" | "failed";
            /** The files that it works on. */
            locations: {
                path: string;
                line?: number;
            }[];
            content: ({
                type: "text";
                /** Markdown or plain output, at most 64 KiB. */
                text: string;
            } | {
                type: "diff";
                path: string;
                hunks: components["schemas"]["AgentHunk"][];
            })[];
            /** Its input as JSON, at most 16 KiB. */
            input?: string;
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "changes";
            /** The checkpoint before the turn. */
            before: string;
            /** The checkpoint after it; null during the turn. */
            after: string | null;
            files: components["schemas"]["AgentFileChange"][];
            /** About files that are not listed, and others who may have changed files. For people. */
            note?: string;
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "plan";
            entries: {
                text: string;
                status: "pending" | "in_progress" | "completed";
                priority: "high" | "medium" | "low";
            }[];
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "permission";
            /** The item of the tool that needs it. */
            toolItemId: string;
            title: string;
            options: {
                id: string;
                /** For people. */
                name: string;
                kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
            }[];
            /**
             * A rule has answered.
             */
            byRule?: true;
            /** null while it waits. */
            outcome: ({
                type: "selected";
                optionId: string;
            } | {
                type: "cancelled";
            }) | null;
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "form";
            title: string;
            fields: components["schemas"]["FormField"][];
            /** null while it waits. */
            outcome: ({
                type: "accepted";
                /** The values of a form by the `id` of its `fields`. */
                values: {
                    [key: string]: string | number | boolean | string[];
                };
            } | {
                type: "declined";
            } | {
                type: "cancelled";
            }) | null;
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "url";
            title: string;
            url: string;
            /** null while it waits. `completed`: the agent reports that the person has finished there. */
            outcome: ({
                type: "accepted";
            } | {
                type: "completed";
            } | {
                type: "declined";
            } | {
                type: "cancelled";
            }) | null;
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "notice";
            level: "info" | "warning" | "error";
            text: string;
            /** Of an error: one of docs/errors.md. */
            code?: string;
            /** Markdown. */
            detail?: string;
        } | {
            /** Unique in the conversation. */
            id: string;
            /** When it was added, as a Unix timestamp in milliseconds. */
            atMs: number;
            kind: "restore";
            text: string;
            /** The files of the workspace at one moment. */
            checkpoint: {
                /** null if they could not be copied. */
                id: string | null;
                /** Why not, or which files it leaves out. For people. */
                note?: string;
            };
        };
        /** Changes close to each other, with a few lines of context. */
        AgentHunk: {
            lines: {
                kind: "added" | "removed" | "same";
                text: string;
            }[];
            /** How many further lines it has, which are too many to send. */
            hiddenLines?: number;
            /**
             * The decision of a person.
             */
            decision?: "accepted" | "rejected";
        };
        AgentFileChange: {
            /** Relative to the workspace. */
            path: string;
            kind: "added" | "modified" | "deleted";
            /** Only of texts. */
            linesAdded?: number;
            /** Only of texts. */
            linesRemoved?: number;
            /** A change that lines cannot show, for people. */
            note?: string;
            /**
             * A person saved the file during the turn, so a part of the change may be theirs.
             */
            saved?: true;
            /** Empty if the file is too large. */
            hunks: components["schemas"]["AgentHunk"][];
        };
        /** A field of a form that the agent asks a person to fill in. */
        FormField: {
            id: string;
            label: string;
            description?: string;
            required: boolean;
            type: "text";
            minLength?: number;
            maxLength?: number;
            /** A regular expression. */
            pattern?: string;
            format?: "email" | "uri" | "date" | "date-time";
            default?: string;
        } | {
            id: string;
            label: string;
            description?: string;
            required: boolean;
            type: "number" | "integer";
            minimum?: number;
            maximum?: number;
            default?: number;
        } | {
            id: string;
            label: string;
            description?: string;
            required: boolean;
            type: "boolean";
            default?: boolean;
        } | {
            id: string;
            label: string;
            description?: string;
            required: boolean;
            type: "choice";
            choices: {
                id: string;
                name: string;
                description?: string;
            }[];
            default?: string;
        } | {
            id: string;
            label: string;
            description?: string;
            required: boolean;
            type: "choices";
            choices: {
                id: string;
                name: string;
                description?: string;
            }[];
            minItems?: number;
            maxItems?: number;
            default?: string[];
        };
        AgentState: {
            /**
             * `none`: the template has no agent. `unavailable`: its program is not installed. `unconfigured`: `missing` names variables to set. `failed`: `message` says why.
             */
            status: "none" | "unavailable" | "unconfigured" | "stopped" | "starting" | "ready" | "failed";
            /** The name of the agent. */
            name: string | null;
            /** The environment variables that it needs. */
            missing?: string[];
            /** More about the status, for people. */
            message?: string;
            /** With `ready`: whether prompts can have images. */
            acceptsImages?: boolean;
            /** With `unconfigured`: how a person can sign in, in a terminal. */
            signIn?: {
                id: string;
                name: string;
                description?: string;
            }[];
            /** With `ready`: the MCP servers of the session. */
            mcpServers?: {
                name: string;
                /**
                 * `ready`: it answers, or its program is there. The agent does not say whether it uses it.
                 */
                status: "checking" | "ready" | "failed";
                /** Why it has failed. */
                message?: string;
            }[];
        };
        AnswerRun: {
            /** The `itemId` of the question in `waitsFor`. */
            itemId: string;
            /** For a permission: the `id` of one of its `options`. */
            optionId?: string;
            /**
             * For a form or an address. With `cancel` the agent goes on without an answer.
             */
            action?: "accept" | "decline" | "cancel";
            /** The values of a form by the `id` of its `fields`. */
            values?: {
                [key: string]: string | number | boolean | string[];
            };
        };
        CreateKey: {
            /** A name for your own use. */
            name?: string;
            /**
             * The calls that the key may make: `read` reads sessions, events, webhooks and usage; `sessions` also creates, changes and opens sessions and uses their sandboxes; `admin` also manages webhooks and keys.
             * @default admin
             */
            scope?: "read" | "sessions" | "admin";
            /** When the key stops working, in UTC; null for never, the default. */
            expiresAt?: string | null;
        };
        CreateSession: {
            /**
             * The identifier of the user in your own system.
             * @example user-42
             */
            externalUserId: string;
            /**
             * Environment variables for the programs in the sandbox. A name has 1 to 128 characters, no = and no NUL, and does not begin with BERTH_. Names and values together have at most 256 KiB. The API never returns them.
             * @example {
             *       "NODE_ENV": "development"
             *     }
             */
            envVars?: {
                [key: string]: string;
            };
            /**
             * The sandbox template. The operator configures which ones exist.
             * @default default
             */
            template?: string;
            /**
             * The time in milliseconds after which the session is paused, or destroyed if `onTimeout` says so, counted from its creation or last resume.
             * @default 3600000
             */
            timeoutMs?: number;
            /** Pause the session after this many milliseconds in which it was not used; `timeoutMs` still applies. null: never. The default is that of the template or of your account, normally none. */
            idleTimeoutMs?: number | null;
            /**
             * Whether the coding agent in the sandbox starts automatically.
             * @default true
             */
            autoStartAgent?: boolean;
            /**
             * Your own data about the session. A key has 1 to 64 characters and no NUL. A value has at most 512 characters.
             * @example {
             *       "plan": "pro"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
            /** Whether opening the launch URL, a call through `sandboxUrl` or a preview resumes the session if it is paused. The default is that of the template or of your account, normally false. */
            autoResume?: boolean;
            /**
             * Whether the timeout pauses or destroys the session. The default is that of the template, of your account or of the server, normally `pause`.
             */
            onTimeout?: "pause" | "destroy";
            /** What the sandbox may use, up to the maximum of the template. The default is that of the template. */
            resources?: {
                /** The processors, such as 1.5. */
                cpus?: number;
                /** The memory in MiB. */
                memoryMb?: number;
                /** The disk for workspace and home, in MiB. */
                diskMb?: number;
            };
            /** What the sandbox may reach, within what the template allows. The default is that of the template. */
            egress?: {
                /**
                 * No network, all public addresses, or only `hosts`.
                 */
                policy: "none" | "public" | "hosts";
                /** With the policy `hosts`: names, `*.domain` or addresses, each with an optional `:port`. An object with `methods` or `paths` allows only such requests, by plain HTTP. */
                hosts?: (string | {
                    host: string;
                    /** The methods that are allowed, such as `GET`. Absent: all. */
                    methods?: string[];
                    /** The paths that are allowed; a `*` at the end stands for any rest. Absent: all. */
                    paths?: string[];
                })[];
                /** With `public` or `hosts`: names, `*.domain`, addresses or networks such as `192.0.2.0/24` that the sandbox may not reach, whatever else is allowed. */
                deny?: string[];
            };
            source?: components["schemas"]["Source"];
            /** With a snapshot or a session as the source: create this many sessions. The response is then 207, with a result for each of them. */
            count?: number;
            /**
             * A shell command that runs once, when the source is there and before the agent starts. Default: `.berth/setup` in the repository, or the template's.
             * @example npm ci
             */
            setup?: string;
            /** APIs that programs in the sandbox may call with a credential that only the server knows. */
            relays?: components["schemas"]["Relay"][];
            /** MCP servers for the agent of the session. They replace those of the template with the same name. */
            mcpServers?: components["schemas"]["McpServer"][];
            /** Volumes to mount. They replace those of the template with the same name. The session keeps them until it is destroyed, also while it is paused. */
            volumes?: components["schemas"]["VolumeMount"][];
            run?: components["schemas"]["StartRun"];
        };
        /** Start with the files of a git repository, of a snapshot or of another session. Name exactly one of the three. */
        Source: {
            git?: {
                /**
                 * The repository's address, with https or http and without a user or password.
                 * @example https://git.example.com/acme/shop.git
                 */
                url: string;
                /** A branch, a tag or a full commit id. Default: the repository's default branch. */
                ref?: string;
                /** Fetch only this many commits of the history. */
                depth?: number;
                /** The folder below the workspace. Default: the workspace itself. */
                path?: string;
                /**
                 * Whether to fetch submodules too.
                 * @default false
                 */
                submodules?: boolean;
                /**
                 * The user name that belongs to the token, for servers that check it.
                 * @default x-access-token
                 */
                username?: string;
                /** A token or password for the repository. It never enters the sandbox: clone, fetch and push of this repository go through the server, which adds it. The API never returns it. */
                token?: string;
            };
            /**
             * Start with the files of this snapshot.
             * @example snp_01k9zq3v8g2p7s9x4z6b8dafhk
             */
            snapshotId?: string;
            /**
             * Start with the files that this session has now: a fork.
             * @example ses_01k9zq3v8e4m7t2x5c6b9d0fgh
             */
            sessionId?: string;
        };
        Relay: {
            /**
             * Programs in the sandbox find the relay's address in the variable `BERTH_RELAY_{name}`.
             * @example JIRA
             */
            name: string;
            /**
             * Requests reach only addresses below this one.
             * @example https://jira.example.com/rest/api/3
             */
            upstream: string;
            /**
             * The header that the server adds to every request.
             * @example Authorization
             */
            header: string;
            /** The header's value, such as `Bearer …`. The API never returns it. */
            value: string;
        };
        McpServer: {
            /**
             * The name by which the agent knows it.
             * @example jira
             */
            name: string;
            /**
             * The address of a server that speaks HTTP. The agent reaches it through the Berth server, and nothing else there.
             * @example https://mcp.example.com/mcp
             */
            url?: string;
            /**
             * With `url`: the header that the Berth server adds to every request.
             * @example Authorization
             */
            header?: string;
            /**
             * Instead of `url`: a program in the sandbox, which the agent starts. It has the variables of the session.
             * @example npx
             */
            command?: string;
            /** The arguments of `command`. */
            args?: string[];
            /** The value of `header`, such as `Bearer …`. It never enters the sandbox, and the API never returns it. */
            value?: string;
        };
        VolumeMount: {
            /**
             * The name, unique among your volumes: lowercase letters, digits and hyphens.
             * @example npm-cache
             */
            name: string;
            /**
             * Where the sandbox sees it: a path below `/mnt`, `/data` or `/home/user`.
             * @example /home/user/.npm
             */
            path: string;
            /**
             * `ro` to read, or `rw` to read and write. One session at a time may have it `rw`.
             */
            mode: "ro" | "rw";
        };
        StartRun: {
            /**
             * What the agent is asked to do.
             * @example Fix the failing test in src/cart.ts
             */
            prompt: string;
            /** The conversation to continue. Default: a new one. */
            conversationId?: string;
            /** Files, lines of files and images for the agent. */
            attachments?: ({
                /** A file, relative to the workspace folder. */
                path: string;
                /** The first line, counted from 1. Default: the whole file. */
                fromLine?: number;
                /** The last line. */
                toLine?: number;
            } | {
                /** An image in base64. */
                image: string;
            })[];
            /** One of the agent's modes. Default: the one in which it asks, unless `permissions` is `allow`. */
            mode?: string;
            /** One of the models that the agent offers. */
            model?: string;
            /**
             * How the agent's questions for permission are answered. `ask`: by a person in the workspace, or with an answer over this API. `allow`: with yes. Rules: the first one that matches decides, and the rest asks.
             * @default ask
             */
            permissions?: ("ask" | "allow") | ({
                tool: "read" | "edit" | "delete" | "move" | "search";
                /** A glob, relative to the workspace. `*` does not match a slash, `**` does. */
                path?: string;
                allow: boolean;
            } | {
                tool: "shell";
                /** A glob. In a rule that allows, `*` matches no character that could begin another command. */
                command?: string;
                allow: boolean;
            } | {
                tool: "fetch" | "other" | "*";
                allow: boolean;
            })[];
            /** How many requests the agent may send to the server's model. */
            maxTurns?: number;
            /** How many tokens these may use, input and output together. */
            maxTokens?: number;
            /** The time for the whole run, waiting for answers included. A pause of the session does not count. */
            timeoutMs?: number;
        };
        CreateSessionToken: {
            /** The parts of the session that the token opens. */
            scopes: ("exec" | "files" | "processes" | "terminals" | "agent" | "runs" | "ports" | "ssh")[];
            /** With the scope `ports`: the only ports whose previews the token opens. Such a token does not list the ports. Absent: all ports. */
            ports?: number[];
            /** How long the token works: at most 30 days. */
            ttlMs: number;
            /** A name for your own use. */
            name?: string;
        };
        CreateVolume: {
            /**
             * The name, unique among your volumes: lowercase letters, digits and hyphens.
             * @example npm-cache
             */
            name: string;
            /**
             * The most that the volume can hold, in MiB, with its file system.
             * @default 10240
             */
            sizeMb?: number;
        };
        CreateWebhook: {
            /**
             * Format: uri
             * An https URL on the public Internet.
             */
            url: string;
            /** The event types to send; null for all types. */
            types?: ("session.created" | "session.paused" | "session.resumed" | "session.destroyed" | "session.timeout_warning" | "session.failed" | "session.source_ready" | "session.source_failed" | "session.setup_finished" | "process.exited" | "run.started" | "run.needs_input" | "run.finished" | "snapshot.created" | "snapshot.failed" | "snapshot.deleted")[] | null;
            /** A note for your own use. */
            description?: string;
        };
        Delivery: {
            /** The identifier of the delivery. */
            id: string;
            /** The identifier of the event. */
            eventId: string;
            /** The type of the event. */
            type: string;
            /**
             * Whether the delivery is waiting, has arrived, or has failed.
             */
            state: "pending" | "delivered" | "failed";
            /** The number of attempts so far. */
            attempts: number;
            /** The HTTP status of the receiver's last response; null if there was none. */
            lastStatus: number | null;
            /** Why the last attempt failed; null if it did not. */
            lastError: string | null;
            /**
             * Format: date-time
             * When the delivery was created, in UTC.
             */
            createdAt: string;
            /** When the delivery arrived or finally failed; null while it is pending. */
            finishedAt: string | null;
        };
        EgressHost: {
            /** The name or address that the sandbox asked for. `*` stands for all further ones, after 200 hosts of a session. */
            host: string;
            /** The port; 0 with the host `*`. */
            port: number;
            /**
             * `allowed`: connected. `refused`: the egress policy forbids it. `unreachable`: allowed, but there was no connection.
             */
            outcome: "allowed" | "refused" | "unreachable";
            /** Why: the policy or host pattern that allowed it, `BERTH_EGRESS_ALLOW`, `relay` with its name, `model`, or the reason for which there was no connection. */
            rule: string;
            /** Connections or attempts. Each request to a model counts as one. */
            connections: number;
            /** Bytes that the sandbox sent. */
            sentBytes: number;
            /** Bytes that the sandbox received. */
            receivedBytes: number;
            /**
             * Format: date-time
             * The first connection or attempt.
             */
            firstAt: string;
            /**
             * Format: date-time
             * The last one, or the last bytes of it.
             */
            lastAt: string;
        };
        Event: {
            /** The identifier of the event. Deliveries carry it as `webhook-id`; pass it as `after` or `Last-Event-ID` to continue after this event. */
            id: string;
            /**
             * What happened.
             */
            type: "session.created" | "session.paused" | "session.resumed" | "session.destroyed" | "session.timeout_warning" | "session.failed" | "session.source_ready" | "session.source_failed" | "session.setup_finished" | "process.exited" | "run.started" | "run.needs_input" | "run.finished" | "snapshot.created" | "snapshot.failed" | "snapshot.deleted";
            /**
             * Format: date-time
             * When it happened.
             */
            timestamp: string;
            /** The session at the time of the event: `sessionId`, `sandboxId`, `externalUserId`, `status`, `reason` and `metadata`. `process.exited` has `processId`, `name`, `processStatus` (`exited` or `lost`), `exitCode`, `signal`, `timedOut`, `startedAt`, `endedAt` and `durationMs` too. An event of a run has `runId`, `runStatus`, `reason`, `code`, `message`, `conversationId`, `waitsFor`, `tokens`, `durationMs` and `fileCount`. An event of a snapshot has `snapshotId`, `name`, `bytes` and `reason`, and the session that it was taken of. */
            data: {
                /** The identifier of the session. */
                sessionId: string;
            } & {
                [key: string]: unknown;
            };
        };
        ExecEvent: {
            /**
             * Output of the command.
             */
            type: "stdout" | "stderr";
            /** The text, in UTF-8. Bytes that are not UTF-8 are replaced. */
            data: string;
        } | {
            /**
             * The last line of a command that ran.
             */
            type: "exit";
            /** The exit code; null if a signal ended it. */
            code: number | null;
            /** The signal that ended it, such as `SIGKILL`; null if it exited. */
            signal: string | null;
            /** True if `timeoutMs` has passed. */
            timedOut?: boolean;
        } | {
            /**
             * The last line if the command could not be started, or if the session was paused or destroyed.
             */
            type: "error";
            /** What happened. */
            message: string;
            /**
             * The session was paused: the command goes on when it is resumed, but its output is lost. Or it was destroyed.
             */
            code?: "session_paused" | "session_not_found";
        };
        ExecRequest: {
            /** A string is run by `sh -c`; an array is executed without a shell. */
            command: string | string[];
            /** The folder to run in, relative to the workspace. Default: the workspace. */
            cwd?: string;
            /** Environment variables in addition to those of the session. */
            env?: {
                [key: string]: string;
            };
            /** The standard input. Default: empty. */
            stdin?: string;
            /** The command and everything that it started are killed after this time. */
            timeoutMs?: number;
        };
        FileEntry: {
            /** The name without its folder. */
            name: string;
            /**
             * What it is; `link` is a symbolic link.
             */
            type: "file" | "folder" | "link" | "other";
            /**
             * What a link leads to; absent if it is broken or leads out of the workspace.
             */
            target?: "file" | "folder";
            /** The size in bytes. */
            size: number;
            /** When it was last modified, as a Unix timestamp in milliseconds. */
            modifiedAtMs: number;
        };
        IssueLaunchUrl: {
            /**
             * An `editor` may do everything in the workspace. A `viewer` sees it and changes nothing.
             * @default editor
             */
            role?: "editor" | "viewer";
            /** The name of the person, for others in the same workspace. Default: `Guest`. */
            displayName?: string;
        };
        IssuePreviewUrl: {
            /** The port on which the web server in the sandbox listens. */
            port: number;
            /** How long the URL and the browser that opened it can use the port: at most 7 days. */
            ttlMs: number;
            /**
             * The path at which the web server opens.
             * @default /
             */
            path?: string;
        };
        Key: {
            /** The identifier of the key. */
            id: string;
            /** A name for your own use. */
            name: string;
            /**
             * The calls that the key may make: `read` reads sessions, events, webhooks and usage; `sessions` also creates, changes and opens sessions and uses their sandboxes; `admin` also manages webhooks and keys.
             */
            scope: "read" | "sessions" | "admin";
            /** The first and last characters of the key. */
            hint: string;
            /**
             * Whether the key works.
             */
            state: "active" | "expired" | "revoked";
            /**
             * Format: date-time
             * The creation time, in UTC.
             */
            createdAt: string;
            /** When the key was last used, to the minute, in UTC; null for never. */
            lastUsedAt: string | null;
            /** When the key stops working, in UTC; null for never. */
            expiresAt: string | null;
            /** When the key was revoked, in UTC; null if it was not. */
            revokedAt: string | null;
        };
        LaunchUrl: {
            /**
             * Format: uri
             * The signed URL to open in the user's browser.
             */
            url: string;
            /** When the URL expires, as a Unix timestamp in milliseconds. */
            expiresAt: number;
            /**
             * The role that the request asked for.
             */
            role?: "editor" | "viewer";
        };
        PreviewUrl: {
            /**
             * Format: uri
             * The signed URL. Everyone who has it can use this port.
             */
            url: string;
            /**
             * Format: date-time
             * When it stops working, in UTC.
             */
            expiresAt: string;
        };
        Process: {
            /** The identifier of the process. */
            id: string;
            /** The name that it was started with. */
            name: string | null;
            /** The `command` or the `args` that it was started with. */
            command: string | string[];
            /** The folder that it was started in. */
            cwd: string;
            /** Whether it has a pseudo-terminal. */
            pty: boolean;
            /** Its number in the sandbox. */
            pid: number;
            /**
             * `lost`: the sandbox was stopped while it ran, so nothing is known about its end.
             */
            status: "running" | "exited" | "lost";
            /** The exit code; null while it runs, if a signal ended it, and if it is lost. */
            exitCode: number | null;
            /** The signal that ended it, such as `SIGKILL`. */
            signal: string | null;
            /** Whether `timeoutMs` ended it. */
            timedOut: boolean;
            /**
             * Format: date-time
             * When it was started.
             */
            startedAt: string;
            /** When it ended; null while it runs. */
            endedAt: string | null;
            /** The bytes of its output so far. */
            outputBytes: number;
            /** How many of the oldest bytes are no longer kept. */
            droppedBytes: number;
        };
        ProcessEvent: {
            /**
             * The first event, if the request has started the process.
             */
            type: "start";
            process: components["schemas"]["Process"];
        } | {
            /**
             * The program has written something.
             */
            type: "output";
            /**
             * The stream that the program wrote to.
             */
            stream: "stdout" | "stderr";
            /** A piece of the output; with `encoding=base64` its bytes. */
            data: string;
        } | {
            /**
             * A part of the output is no longer kept.
             */
            type: "dropped";
            /** How much of it this response does not have. */
            bytes: number;
        } | {
            /**
             * The last event.
             */
            type: "end";
            process: components["schemas"]["Process"];
        };
        PromptRequest: {
            /** What the agent is asked to do. */
            text: string;
            /** Default: a new conversation. */
            conversationId?: string;
            /**
             * How to answer permission requests of this turn. With `ask` they wait for an answer.
             * @default ask
             */
            permissions?: "ask" | "allow" | "reject";
        };
        QuestionAnswer: {
            /** The conversation. */
            conversationId: string;
            /** The item of the kind `permission`, `form` or `url`. */
            itemId: string;
            /** For a permission: one of the item's `options`. */
            optionId?: string;
            /**
             * For a form or an address. With `cancel` the agent goes on without an answer.
             */
            action?: "accept" | "decline" | "cancel";
            /** The values of a form by the `id` of its `fields`. */
            values?: {
                [key: string]: string | number | boolean | string[];
            };
        };
        RotateKey: {
            /**
             * How long the old key keeps working; 0 to revoke it at once.
             * @default 86400000
             */
            overlapMs?: number;
            /** When the new key stops working, in UTC; null for never. By default it lasts as long as the old one was to last when it was issued. */
            expiresAt?: string | null;
        };
        Run: {
            /**
             * The run's identifier.
             * @example run_01k9zq3v8h3q8t0y5a7c9ebgjm
             */
            runId: string;
            /** The session that it belongs to. */
            sessionId: string;
            /**
             * `queued`: it waits for the setup of the session, for its conversation or for other runs. `needs_input`: it waits for an answer. `lost`: the sandbox was stopped while it worked. The last four are final.
             */
            status: "queued" | "running" | "needs_input" | "succeeded" | "failed" | "interrupted" | "lost";
            /** Why it was interrupted, or `error` if it has failed; otherwise null. */
            reason: ("requested" | "person" | "timeout" | "max_turns" | "max_tokens" | "session_ended" | "error") | null;
            /** The code of the error, if it has failed. */
            code: string | null;
            /** How it ended, for people. */
            message: string | null;
            /** The conversation; null before it has begun in a new one. */
            conversationId: string | null;
            /** The first 2,000 characters of its prompt. */
            prompt: string;
            /** The agent's mode; null if it was not chosen. */
            mode: string | null;
            /** The model; null if it was not chosen. */
            model: string | null;
            /** Its limit of requests to the model. */
            maxTurns: number | null;
            /** Its limit of tokens. */
            maxTokens: number | null;
            /** Its limit of time. */
            timeoutMs: number | null;
            /** The agent's requests to the server's model so far. */
            turns: number;
            /** The tokens that these have used; null if the agent uses another model. */
            tokens: {
                input: number;
                output: number;
            } | null;
            /** What it cost, if the agent reports that. */
            cost: {
                amount: number;
                currency: string;
            } | null;
            /** How many files it has changed. */
            fileCount: number;
            /** Messages that the agent does not have yet. */
            waitingMessages: number;
            /**
             * Format: date-time
             * When it was created.
             */
            createdAt: string;
            /** When the agent began; null before that. */
            startedAt: string | null;
            /** When it was over; null before that. */
            endedAt: string | null;
            /** How the agent's questions for permission are answered. `ask`: by a person in the workspace, or with an answer over this API. `allow`: with yes. Rules: the first one that matches decides, and the rest asks. */
            permissions: ("ask" | "allow") | ({
                tool: "read" | "edit" | "delete" | "move" | "search";
                /** A glob, relative to the workspace. `*` does not match a slash, `**` does. */
                path?: string;
                allow: boolean;
            } | {
                tool: "shell";
                /** A glob. In a rule that allows, `*` matches no character that could begin another command. */
                command?: string;
                allow: boolean;
            } | {
                tool: "fetch" | "other" | "*";
                allow: boolean;
            })[];
            /** The agent's last message, at most 32 KiB. */
            text: string;
            /** The files that it has changed, at most 200. */
            files: {
                /** Relative to the workspace folder. */
                path: string;
                kind: "added" | "modified" | "deleted";
                linesAdded?: number;
                linesRemoved?: number;
            }[];
            /** The questions that it waits for. */
            waitsFor: ({
                /** Names the question in an answer. */
                itemId: string;
                /** The question, for people. */
                title: string;
                kind: "permission";
                tool: {
                    /** As in the rules of `permissions`. */
                    kind: string;
                    /** What the agent wants to do. */
                    title: string;
                    /** The input of the tool, as JSON. */
                    input?: string;
                };
                /** The possible answers. */
                options: {
                    id: string;
                    /** For people. */
                    name: string;
                    kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
                }[];
            } | {
                /** Names the question in an answer. */
                itemId: string;
                /** The question, for people. */
                title: string;
                kind: "form";
                /** The fields of the form. */
                fields: components["schemas"]["FormField"][];
            } | {
                /** Names the question in an answer. */
                itemId: string;
                /** The question, for people. */
                title: string;
                kind: "url";
                /** The address that a person should open. */
                url: string;
            })[];
        };
        RunEvent: {
            type: "items";
            items: components["schemas"]["ConversationItem"][];
        } | {
            type: "item";
            item: components["schemas"]["ConversationItem"];
        } | {
            type: "append";
            itemId: string;
            text: string;
        } | {
            type: "run";
            run: components["schemas"]["RunNow"];
        } | {
            type: "end";
            run: components["schemas"]["RunNow"];
        };
        /** A run, as its events describe it. */
        RunNow: Omit<components["schemas"]["Run"], "sessionId">;
        RunStarted: Pick<components["schemas"]["Run"], "runId" | "status">;
        RunSummary: Omit<components["schemas"]["Run"], "permissions" | "text" | "files" | "waitsFor">;
        SessionRead: {
            /**
             * The session's identifier. Use it as `{id}` in paths.
             * @example ses_01k9zq3v8e4m7t2x5c6b9d0fgh
             */
            sessionId: string;
            /**
             * The identifier of the sandbox that backs the session.
             * @example sbx_01k9zq3v8f1n6r8w3y5a7c9efj
             */
            sandboxId: string;
            /**
             * The state of the session.
             */
            status: "running" | "paused" | "destroyed";
            /**
             * Format: uri
             * The address of the running sandbox. Your backend reaches the sandbox's own API below it, with the same API key.
             */
            sandboxUrl: string;
            /**
             * Format: date-time
             * The creation time, in UTC with millisecond precision.
             */
            createdAt: string;
            /**
             * The identifier of the user in your own system.
             * @example user-42
             */
            externalUserId?: string;
            /** The sandbox template. */
            template?: string;
            /**
             * Your own data about the session. A key has 1 to 64 characters and no NUL. A value has at most 512 characters.
             * @example {
             *       "plan": "pro"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
            /** The time without use after which the session is paused; null if there is none. */
            idleTimeoutMs?: number | null;
            source?: components["schemas"]["SourceRead"];
            setup?: components["schemas"]["SetupRead"];
            /** The image of the repository's devcontainer.json in which the sandbox runs; absent if it is the template's. */
            image?: string;
            relays?: components["schemas"]["RelayRead"][];
            /** The MCP servers that the create named. */
            mcpServers?: components["schemas"]["McpServerRead"][];
            /** The volumes that the session mounts. */
            volumes?: components["schemas"]["VolumeMount"][];
            /** When the timeout will pause or destroy the session; null unless it is running. */
            expiresAt?: string | null;
            /** Why the session was last paused or destroyed: by an API call, by its timeout, because it was idle, by the end of its retention, or because its sandbox was lost. */
            stopReason?: ("api" | "timeout" | "idle" | "retention" | "sandbox_lost" | "disk_full" | "disk_failed") | null;
            /** Whether opening the session resumes it if it is paused. */
            autoResume?: boolean;
            /**
             * Whether the timeout pauses or destroys the session.
             */
            onTimeout?: "pause" | "destroy";
            /** How long the user may keep the session running, counted from its creation or last resume; null if not beyond its timeout. */
            maxTimeoutMs?: number | null;
            /** What the sandbox may use, as named on create or changed later; null for the values of the template. */
            resources?: {
                /** The processors, such as 1.5. */
                cpus?: number;
                /** The memory in MiB. */
                memoryMb?: number;
                /** The disk for workspace and home, in MiB. */
                diskMb?: number;
            } | null;
            /** What the sandbox may reach, as named on create or changed later; null for the policy of the template. */
            egress?: {
                /**
                 * No network, all public addresses, or only `hosts`.
                 */
                policy: "none" | "public" | "hosts";
                /** With the policy `hosts`: names, `*.domain` or addresses, each with an optional `:port`. An object with `methods` or `paths` allows only such requests, by plain HTTP. */
                hosts?: (string | {
                    host: string;
                    /** The methods that are allowed, such as `GET`. Absent: all. */
                    methods?: string[];
                    /** The paths that are allowed; a `*` at the end stands for any rest. Absent: all. */
                    paths?: string[];
                })[];
                /** With `public` or `hosts`: names, `*.domain`, addresses or networks such as `192.0.2.0/24` that the sandbox may not reach, whatever else is allowed. */
                deny?: string[];
            } | null;
        };
        SourceRead: {
            git?: {
                /**
                 * The repository's address, with https or http and without a user or password.
                 * @example https://git.example.com/acme/shop.git
                 */
                url: string;
                /** A branch, a tag or a full commit id. Default: the repository's default branch. */
                ref?: string;
                /** Fetch only this many commits of the history. */
                depth?: number;
                /** The folder below the workspace. Default: the workspace itself. */
                path?: string;
                /**
                 * Whether to fetch submodules too.
                 * @default false
                 */
                submodules?: boolean;
            };
            /**
             * Start with the files of this snapshot.
             * @example snp_01k9zq3v8g2p7s9x4z6b8dafhk
             */
            snapshotId?: string;
            /**
             * Start with the files that this session has now: a fork.
             * @example ses_01k9zq3v8e4m7t2x5c6b9d0fgh
             */
            sessionId?: string;
            /**
             * Whether the files are there.
             */
            status: "pending" | "ready" | "failed";
            /** Why the source failed, for people; otherwise null. */
            reason: string | null;
        };
        SetupRead: {
            /**
             * Whether the command has ended. `none`: there was no command.
             */
            status: "pending" | "finished" | "none";
            /** The command's exit code; null if it has none. */
            exitCode: number | null;
        };
        RelayRead: Omit<components["schemas"]["Relay"], "value">;
        McpServerRead: {
            /**
             * The name by which the agent knows it.
             * @example jira
             */
            name: string;
            /** The host of its address. */
            host?: string;
            /** Its program in the sandbox. */
            command?: string;
        };
        SessionToken: Omit<components["schemas"]["SessionTokenWithSecret"], "token" | "ssh">;
        SessionTokenWithSecret: {
            /** The identifier of the token, for a revocation. */
            tokenId: string;
            /** A name for your own use. */
            name: string;
            /** The parts of the session that the token opens. */
            scopes: ("exec" | "files" | "processes" | "terminals" | "agent" | "runs" | "ports" | "ssh")[];
            /** The only ports that it opens; null for all. */
            ports: number[] | null;
            /**
             * Whether the token works.
             */
            state: "active" | "expired" | "revoked";
            /**
             * Format: date-time
             * The creation time, in UTC.
             */
            createdAt: string;
            /**
             * Format: date-time
             * When the token stops working, in UTC.
             */
            expiresAt: string;
            /** When the token was revoked, in UTC; null if it was not. */
            revokedAt: string | null;
            /** The token itself. This response is the only one that contains it. */
            token: string;
            ssh: {
                /**
                 * Format: uri
                 * The WebSocket that carries SSH connections.
                 */
                url: string;
                /** The sandbox's host key as in a known_hosts file. null if the session does not run; `GET {sandboxUrl}/ssh` returns it as soon as it does. */
                hostKey: string | null;
            } | null;
        };
        Snapshot: {
            /**
             * The snapshot's identifier.
             * @example snp_01k9zq3v8g2p7s9x4z6b8dafhk
             */
            id: string;
            /** Its name; empty if it has none. */
            name: string;
            /**
             * Whether the files are complete.
             */
            status: "creating" | "ready";
            /** The session that it was taken of. It may have been destroyed since. */
            sessionId: string;
            /** The template of that session, and of sessions from this snapshot that name none. */
            template: string;
            /** The space that it occupies; null if that is not known. */
            bytes: number | null;
            /**
             * Format: date-time
             * When it was taken.
             */
            createdAt: string;
        };
        StartProcess: {
            /** Run by `sh -c`. Either this or `args`. */
            command?: string;
            /** A program and its arguments, executed without a shell. */
            args?: string[];
            /** The folder to run in, relative to the workspace. Default: the workspace. */
            cwd?: string;
            /** Environment variables in addition to those of the session. */
            env?: {
                [key: string]: string;
            };
            /** Run it on a pseudo-terminal of this size. Its output is one stream, `stdout`. */
            pty?: {
                /** The width in characters. */
                cols: number;
                /** The height in lines. */
                rows: number;
            };
            /**
             * Whether its input stays open for more. It does with `pty`.
             * @default false
             */
            stdin?: boolean;
            /** It and everything that it started are killed after this time. A pause does not count. */
            timeoutMs?: number;
            /** A name for people, in lists and events. */
            name?: string;
        };
        UpdateSession: {
            /** The new timeout in milliseconds, counted from now or, for a paused session, from its next resume. */
            timeoutMs?: number;
            /** The new idle timeout in milliseconds, counted from now; null for none. */
            idleTimeoutMs?: number | null;
            /**
             * Your own data about the session. A key has 1 to 64 characters and no NUL. A value has at most 512 characters.
             * @example {
             *       "plan": "pro"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
            /** Whether opening the session resumes it if it is paused. */
            autoResume?: boolean;
            /**
             * Whether the timeout pauses or destroys the session.
             */
            onTimeout?: "pause" | "destroy";
            /** What the sandbox may use, up to the maximum of the template. Values that are not named stay; null is back to those of the template. `diskMb` cannot change. */
            resources?: {
                /** The processors, such as 1.5. */
                cpus?: number;
                /** The memory in MiB. */
                memoryMb?: number;
                /** The disk for workspace and home, in MiB. */
                diskMb?: number;
            } | null;
            /** What the sandbox may reach from now on, within what the template allows; null is back to the policy of the template. */
            egress?: {
                /**
                 * No network, all public addresses, or only `hosts`.
                 */
                policy: "none" | "public" | "hosts";
                /** With the policy `hosts`: names, `*.domain` or addresses, each with an optional `:port`. An object with `methods` or `paths` allows only such requests, by plain HTTP. */
                hosts?: (string | {
                    host: string;
                    /** The methods that are allowed, such as `GET`. Absent: all. */
                    methods?: string[];
                    /** The paths that are allowed; a `*` at the end stands for any rest. Absent: all. */
                    paths?: string[];
                })[];
                /** With `public` or `hosts`: names, `*.domain`, addresses or networks such as `192.0.2.0/24` that the sandbox may not reach, whatever else is allowed. */
                deny?: string[];
            } | null;
            /** With `egress`: whether open connections that it forbids are closed. The default is false. */
            closeConnections?: boolean;
            source?: components["schemas"]["SourceUpdate"];
            /** New values for relays of the session. */
            relays?: components["schemas"]["RelayUpdate"][];
            /** New values for the headers of MCP servers of the session. */
            mcpServers?: components["schemas"]["McpServerUpdate"][];
        };
        SourceUpdate: {
            git: {
                /** The new token. If the source has failed, it is fetched again with it. */
                token: string;
            };
        };
        RelayUpdate: {
            /**
             * Programs in the sandbox find the relay's address in the variable `BERTH_RELAY_{name}`.
             * @example JIRA
             */
            name: string;
            /** The new value of its header. */
            value: string;
        };
        McpServerUpdate: {
            /**
             * The name by which the agent knows it.
             * @example jira
             */
            name: string;
            /** The new value of its header. */
            value: string;
        };
        UpdateWebhook: {
            /**
             * Format: uri
             * An https URL on the public Internet.
             */
            url?: string;
            /** The event types to send; null for all types. */
            types?: ("session.created" | "session.paused" | "session.resumed" | "session.destroyed" | "session.timeout_warning" | "session.failed" | "session.source_ready" | "session.source_failed" | "session.setup_finished" | "process.exited" | "run.started" | "run.needs_input" | "run.finished" | "snapshot.created" | "snapshot.failed" | "snapshot.deleted")[] | null;
            /** A note for your own use. */
            description?: string;
            /** Whether events are sent. A webhook that is enabled again gets the events that it missed. */
            enabled?: boolean;
        };
        UsageReport: {
            /**
             * Format: date
             * The first day of the report, in UTC.
             */
            from: string;
            /**
             * Format: date
             * The first day after the report, in UTC.
             */
            to: string;
            /** The currency of the costs; null if the operator has set no prices. */
            currency: string | null;
            /** One row for each group that used something, or one row in all without `groupBy`. */
            data: components["schemas"]["Usage"][];
        };
        Usage: {
            /**
             * Format: date
             * The day, in UTC. Only with `groupBy=day`.
             */
            day?: string;
            /** The session. Only with `groupBy=session`. */
            sessionId?: string;
            /** Your user. Only with `groupBy=user`. */
            externalUserId?: string;
            /** The template. Only with `groupBy=template`. */
            template?: string;
            /** The time in which sessions were running, to the millisecond. */
            runningSeconds: number;
            /** The time in which sessions were paused and kept their memory. */
            pausedSeconds: number;
            /** The time in which sessions were paused and only their files were kept. */
            hibernatedSeconds: number;
            /** Processor time. 0 where the engine does not measure it. */
            cpuSeconds: number;
            /** The largest sample of a session's memory. */
            memoryPeakBytes: number;
            /** The mean of all samples of a session's memory while it was running. */
            memoryMeanBytes: number;
            /** The largest sample of a session's disk. 0 where the engine does not measure it. */
            diskPeakBytes: number;
            /** The mean of all samples of a session's disk while it was running. */
            diskMeanBytes: number;
            /** Bytes that sandboxes sent to the network. */
            egressBytes: number;
            /** Bytes that sandboxes received from the network. */
            ingressBytes: number;
            /** Tokens that agents sent to the model. */
            inputTokens: number;
            /** Tokens that agents received from the model. */
            outputTokens: number;
            /** The usage at the operator's prices, rounded to a millionth; null if the operator has set no prices. */
            estimatedCost: number | null;
        };
        Volume: {
            /** The volume's identifier. Use it as `{id}` in paths. */
            volumeId: string;
            /**
             * The name, unique among your volumes: lowercase letters, digits and hyphens.
             * @example npm-cache
             */
            name: string;
            /** The most that the volume can hold, in MiB, with its file system. */
            sizeMb: number;
            /**
             * Format: date-time
             * The creation time, in UTC.
             */
            createdAt: string;
            /** The sessions that mount it, paused ones included. A volume in use cannot be deleted. */
            usedBy: {
                sessionId: string;
                /**
                 * `ro` to read, or `rw` to read and write. One session at a time may have it `rw`.
                 */
                mode: "ro" | "rw";
            }[];
        };
        Webhook: {
            /** The identifier of the webhook. */
            id: string;
            /**
             * Format: uri
             * An https URL on the public Internet.
             */
            url: string;
            /** The event types to send; null for all types. */
            types: ("session.created" | "session.paused" | "session.resumed" | "session.destroyed" | "session.timeout_warning" | "session.failed" | "session.source_ready" | "session.source_failed" | "session.setup_finished" | "process.exited" | "run.started" | "run.needs_input" | "run.finished" | "snapshot.created" | "snapshot.failed" | "snapshot.deleted")[] | null;
            /** A note for your own use. */
            description: string;
            /** Whether events are sent. */
            enabled: boolean;
            /** Why the webhook is disabled: `api` by an API call, `gone` because the receiver answered 410, `failing` after five days in which every attempt failed. */
            disabledReason: ("api" | "gone" | "failing") | null;
            /**
             * Format: date-time
             * The creation time, in UTC.
             */
            createdAt: string;
        };
        WrittenFile: {
            /** The path of the file. */
            path: string;
            /** The size in bytes. */
            size: number;
            /** When it was written, as a Unix timestamp in milliseconds. */
            modifiedAtMs: number;
            /** The `ETag` of the new content, for `If-Match`. */
            etag: string;
        };
    };
}
export type AgentMessage = components['schemas']['AgentMessage'];
export type Conversation = components['schemas']['Conversation'];
export type AgentUsage = components['schemas']['AgentUsage'];
export type ConversationItem = components['schemas']['ConversationItem'];
export type AgentHunk = components['schemas']['AgentHunk'];
export type AgentFileChange = components['schemas']['AgentFileChange'];
export type FormField = components['schemas']['FormField'];
export type AgentState = components['schemas']['AgentState'];
export type AnswerRun = components['schemas']['AnswerRun'];
export type CreateKey = components['schemas']['CreateKey'];
export type CreateSession = components['schemas']['CreateSession'];
export type Source = components['schemas']['Source'];
export type Relay = components['schemas']['Relay'];
export type McpServer = components['schemas']['McpServer'];
export type VolumeMount = components['schemas']['VolumeMount'];
export type StartRun = components['schemas']['StartRun'];
export type CreateSessionToken = components['schemas']['CreateSessionToken'];
export type CreateVolume = components['schemas']['CreateVolume'];
export type CreateWebhook = components['schemas']['CreateWebhook'];
export type Delivery = components['schemas']['Delivery'];
export type EgressHost = components['schemas']['EgressHost'];
export type Event = components['schemas']['Event'];
export type ExecEvent = components['schemas']['ExecEvent'];
export type ExecRequest = components['schemas']['ExecRequest'];
export type FileEntry = components['schemas']['FileEntry'];
export type IssueLaunchUrl = components['schemas']['IssueLaunchUrl'];
export type IssuePreviewUrl = components['schemas']['IssuePreviewUrl'];
export type Key = components['schemas']['Key'];
export type LaunchUrl = components['schemas']['LaunchUrl'];
export type PreviewUrl = components['schemas']['PreviewUrl'];
export type Process = components['schemas']['Process'];
export type ProcessEvent = components['schemas']['ProcessEvent'];
export type PromptRequest = components['schemas']['PromptRequest'];
export type QuestionAnswer = components['schemas']['QuestionAnswer'];
export type RotateKey = components['schemas']['RotateKey'];
export type Run = components['schemas']['Run'];
export type RunEvent = components['schemas']['RunEvent'];
export type RunNow = components['schemas']['RunNow'];
export type RunStarted = components['schemas']['RunStarted'];
export type RunSummary = components['schemas']['RunSummary'];
export type SessionRead = components['schemas']['SessionRead'];
export type SourceRead = components['schemas']['SourceRead'];
export type SetupRead = components['schemas']['SetupRead'];
export type RelayRead = components['schemas']['RelayRead'];
export type McpServerRead = components['schemas']['McpServerRead'];
export type SessionToken = components['schemas']['SessionToken'];
export type SessionTokenWithSecret = components['schemas']['SessionTokenWithSecret'];
export type Snapshot = components['schemas']['Snapshot'];
export type StartProcess = components['schemas']['StartProcess'];
export type UpdateSession = components['schemas']['UpdateSession'];
export type SourceUpdate = components['schemas']['SourceUpdate'];
export type RelayUpdate = components['schemas']['RelayUpdate'];
export type McpServerUpdate = components['schemas']['McpServerUpdate'];
export type UpdateWebhook = components['schemas']['UpdateWebhook'];
export type UsageReport = components['schemas']['UsageReport'];
export type Usage = components['schemas']['Usage'];
export type Volume = components['schemas']['Volume'];
export type Webhook = components['schemas']['Webhook'];
export type WrittenFile = components['schemas']['WrittenFile'];
