// Groups of tests that can be run separately, and files that cannot share a process.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const groups = {
  checks: 'types, lint and the build of the console',
  browser: 'the console in Chromium',
  databases: 'PostgreSQL, Redis, ClickHouse and HAProxy servers',
  commands: 'the command line and whole processes',
  unit: 'everything else',
} as const

export type Group = keyof typeof groups
export type TestGroup = Exclude<Group, 'checks'>

const groupOfImport: readonly [RegExp, TestGroup][] = [
  [/\/browser\.ts'/, 'browser'],
  [/\/(postgres|pgbouncer|redis|clickhouse|haproxy)\.ts'/, 'databases'],
  [/\/(run-command|three-servers)\.ts'/, 'commands'],
]

/** The group follows from the test helpers that a file imports. */
export function groupOf(root: string, file: string): TestGroup {
  const text = readFileSync(join(root, file), 'utf8')
  return groupOfImport.find(([pattern]) => pattern.test(text))?.[1] ?? 'unit'
}

/** Files that do not share a process. */
const aloneFiles: ReadonlySet<string> = new Set([
  // Builds both packages before its first test. The tests of other files would wait for them.
  'test/package.test.ts',
  // Sets the time zone of the process.
  'server/markets/records/source-time.test.ts',
])

/**
 * Areas and files in the order in which they start; all others follow. The longest come first, so that all cores stay
 * busy until the end.
 */
const startOrder: readonly string[] = [
  'browser',
  'test/package.test.ts',
  'test',
  'server/validators',
  'simulator',
  'test/on-postgres.test.ts',
  'server/validators/on-postgres.test.ts',
  'cli, commands',
  'server/explorer',
  'server/fx',
  'server/markets',
  'conformance',
  'server/storage/postgres/postgres.test.ts',
  'server/storage/move.test.ts',
  'server/operations',
  'api',
  'test/many-servers.test.ts',
]

export interface Batch {
  /** An area, or a file that runs alone. */
  readonly area: string
  readonly name: string
  readonly files: readonly string[]
  /** The number of a client (client-of-run.ts); undefined: that of the seed. */
  readonly client?: number
  /** Commands run on the oldest Node (node-24.ts). */
  readonly isOnNode24?: boolean
}

const filesPerProcessMax: Readonly<Record<TestGroup, number>> = {
  browser: 16,
  databases: 1,
  commands: 8,
  unit: 24,
}

/** `server/fx` and `simulator` for all files below them. Browser tests share one browser. */
function areaOf(group: TestGroup, file: string): string {
  if (group === 'browser') return group
  const [first = '', second = ''] = dirname(file).split('/')
  const folder = first === 'server' ? `${first}/${second}` : first
  return group === 'unit' ? folder : `${folder}, ${group}`
}

/** Tests of an area share a process, and its browser or command host. Loading the server takes half a second of CPU time. */
function batchesOfGroup(group: TestGroup, files: readonly string[]): Batch[] {
  const filesMax = filesPerProcessMax[group]
  const isShared = (file: string) => filesMax > 1 && !aloneFiles.has(file)
  const alone = files.filter((file) => !isShared(file)).map((file) => ({ area: file, name: file, files: [file] }))
  const areas = [...Map.groupBy(files.filter(isShared), (file) => areaOf(group, file))]
  const shared = areas.flatMap(([area, all]) => {
    const count = Math.ceil(all.length / filesMax)
    return Array.from({ length: count }, (_, part) => ({
      area,
      name: count === 1 ? area : `${area} (${part + 1} of ${count})`,
      files: all.filter((_, index) => index % count === part),
    }))
  })
  return [...shared, ...alone]
}

/** In the order in which they start. */
export function batchesOf(byGroup: ReadonlyMap<TestGroup, readonly string[]>): Batch[] {
  const rank = ({ area }: Batch) => startOrder.indexOf(area) >>> 0
  return [...byGroup]
    .flatMap(([group, files]) => batchesOfGroup(group, files))
    .sort((one, other) => rank(one) - rank(other))
}

export const clientsCount = 6

/** Whether the simulated node of a test file behaves like the client of the run. */
const usesClient = (root: string, file: string): boolean =>
  /\/(client-of-run|ingest-oracle|alerts-network)\.ts'/.test(readFileSync(join(root, file), 'utf8'))

/** The files whose simulated node behaves like a client, for every client that the seed does not choose. */
export function batchesOfOtherClients(
  root: string,
  byGroup: ReadonlyMap<TestGroup, readonly string[]>,
  seed: number,
): Batch[] {
  const files = [...byGroup].map(([group, all]) => [group, all.filter((file) => usesClient(root, file))] as const)
  const others = Array.from({ length: clientsCount - 1 }, (_, at) => (seed + 1 + at) % clientsCount)
  return others.flatMap((client) =>
    batchesOf(new Map(files)).map((batch) => ({ ...batch, name: `${batch.name}, client ${client}`, client })),
  )
}

/** The tests of commands, on the oldest Node. */
export const batchesOnNode24 = (byGroup: ReadonlyMap<TestGroup, readonly string[]>): Batch[] =>
  batchesOf(new Map([['commands', byGroup.get('commands') ?? []]])).map((batch) => ({
    ...batch,
    name: `${batch.name}, Node 24`,
    isOnNode24: true,
  }))
