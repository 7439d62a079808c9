// Settings of the databases.
import { Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

/** May contain several hosts, separated by commas. The one that accepts writes is used. */
const postgresUrl = '^postgres(ql)?://[^\\s]+$'

export const storeSettings = section(
  {
    state: withDefault(
      Type.String({
        pattern: `^$|${postgresUrl}`,
        description:
          'PostgreSQL database, `postgres://user:password@host1,host2/name`. Empty: SQLite files in the data folder.',
      }),
      '',
    ),
    stateReplicas: withDefault(
      Type.Array(Type.String({ pattern: postgresUrl }), {
        maxItems: 16,
        description: 'Read replicas, for queries whose result may be a second old.',
      }),
      [],
    ),
    stateConnections: withDefault(
      Type.Integer({
        minimum: 1,
        maximum: 200,
        description: 'Connections of each server for reads. Writing and listening need two more.',
      }),
      8,
    ),
    stateWaitMs: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 600_000,
        description:
          'How long a request waits while PostgreSQL restarts or fails over, counted from the start of the outage. ' +
          'Requests also end after `server.responseTimeoutMs`.',
      }),
      15_000,
    ),
  },
  'The databases.',
)
