// Settings of the databases.
import { Type } from '#api/contract/kit.ts'
import { integer, list, section, text } from './server.ts'

/** May contain several hosts, separated by commas. The one that accepts writes is used. */
const postgresUrl = '^postgres(ql)?://[^\\s]+$'

export const storeSettings = section(
  {
    dir: text(
      'data',
      'The data folder. A relative path starts at the working directory. `--data` and `TETRAD_DATA` override it.',
      { minLength: 1 },
    ),
    state: text(
      '',
      'PostgreSQL database, `postgres://user:password@host1,host2/name`. Empty: SQLite files in the data folder.',
      { pattern: `^$|${postgresUrl}` },
    ),
    stateReplicas: list(
      Type.String({ pattern: postgresUrl }),
      16,
      'Read replicas, for queries whose result may be a second old.',
    ),
    stateConnections: integer(
      8,
      1,
      200,
      'Connections for the reads of requests, and as many again for all threads that read duties. A server needs more in total: see Scaling, Connections.',
    ),
    stateWaitMs: integer(
      15_000,
      0,
      600_000,
      'How long a request, or the start of a server, waits while PostgreSQL restarts or fails over, counted from the ' +
        'start of the outage. A statement of a request may take as long, at least 5 s. Requests also end after ' +
        '`server.responseTimeoutMs`.',
    ),
    upgradeBackups: integer(
      2,
      0,
      20,
      'How many backups of the SQLite files are kept that are made before an upgrade changes their tables, in ' +
        '`upgrade-backups` in the data folder. 0: none is made. PostgreSQL: use its own tools.',
    ),
  },
  'The databases.',
)
