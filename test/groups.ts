// Groups of tests that can be run separately, and files that cannot share a process.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const groups = {
  checks: 'types, lint and the build of the console',
  browser: 'the console in Chromium',
  databases: 'PostgreSQL and Redis servers',
  commands: 'the command line and whole processes',
  unit: 'everything else',
} as const

export type Group = keyof typeof groups

const groupOfImport: readonly [RegExp, Group][] = [
  [/\/browser\.ts'/, 'browser'],
  [/\/(postgres|redis)\.ts'/, 'databases'],
  [/\/(run-command|three-servers)\.ts'/, 'commands'],
]

/** The group follows from the test helpers that a file imports. */
export function groupOf(root: string, file: string): Group {
  const text = readFileSync(join(root, file), 'utf8')
  return groupOfImport.find(([pattern]) => pattern.test(text))?.[1] ?? 'unit'
}

/** Files that change the process they run in. */
const aloneFiles: ReadonlySet<string> = new Set([
  // Sets the time zone of the process.
  'server/markets/feeds/source-time.test.ts',
])

/** Run first, because they take longest. */
const slowFolders: readonly string[] = ['test', 'simulator', 'simulator/beacon', 'server/validators', 'server/explorer']

const rank = (folder: string): number => (slowFolders.includes(folder) ? 0 : 1)

export interface Batch {
  readonly group: Group
  readonly name: string
  readonly files: readonly string[]
}

const filesPerProcessMax: Readonly<Record<Exclude<Group, 'checks'>, number>> = {
  browser: 16,
  databases: 1,
  commands: 5,
  unit: 16,
}

/** `server/fx` for all files below it. */
const areaOf = (file: string): string => dirname(file).split('/').slice(0, 2).join('/')

/** Tests of an area share a process, and its browser or command host. */
export function batchesOf(group: Exclude<Group, 'checks'>, files: readonly string[]): Batch[] {
  const filesMax = filesPerProcessMax[group]
  const isShared = (file: string) => filesMax > 1 && !aloneFiles.has(file)
  const alone = files.filter((file) => !isShared(file)).map((file) => ({ group, name: file, files: [file] }))
  const folders = [...Map.groupBy(files.filter(isShared), areaOf)].sort(([one], [other]) => rank(one) - rank(other))
  const shared = folders.flatMap(([folder, all]) => {
    const count = Math.ceil(all.length / filesMax)
    const name = group === 'unit' ? folder : `${folder}, ${group}`
    return Array.from({ length: count }, (_, part) => ({
      group,
      name: count === 1 ? name : `${name} (${part + 1} of ${count})`,
      files: all.filter((_, index) => index % count === part),
    }))
  })
  return [...shared, ...alone]
}
