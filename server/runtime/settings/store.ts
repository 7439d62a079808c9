// Where the stores live. An empty `state` means the file in the data folder: the embedded engine, one process.
import { Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

/** Several hosts with commas between: the one that takes writes is found among them. */
const postgresUrl = '^postgres(ql)?://[^\\s]+$'

export const storeSettings = section(
  {
    state: withDefault(
      Type.String({
        pattern: `^$|${postgresUrl}`,
        description:
          'PostgreSQL that holds the state, `postgres://user:password@host1,host2/name`; empty: the file in the data folder.',
      }),
      '',
    ),
    stateReplicas: withDefault(
      Type.Array(Type.String({ pattern: postgresUrl }), {
        maxItems: 16,
        description: 'Read replicas of that PostgreSQL, asked where an answer may be a second old.',
      }),
      [],
    ),
    stateConnections: withDefault(
      Type.Integer({
        minimum: 1,
        maximum: 200,
        description: 'How many connections one process may use for reads; writing and listening take two more.',
      }),
      8,
    ),
    stateWaitMs: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 600_000,
        description:
          'How long a request waits while PostgreSQL restarts or fails over, counted from the start of the outage. ' +
          'Requests also end after `server.answerTimeoutMs`.',
      }),
      15_000,
    ),
  },
  'Where the stores live.',
)
