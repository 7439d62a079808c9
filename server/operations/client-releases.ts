// The first known releases of clients for a fork, so that the doctor can name nodes that are older. A client that is not
// listed is not judged.

interface ClientRelease {
  /** Of the consensus layer, and of the execution layer. */
  readonly forks: readonly string[]
  /** As the client names itself before the first slash, in lower case. */
  readonly client: string
  readonly version: readonly [number, number, number]
  /** Why this release. */
  readonly source: string
}

const osaka = { forks: ['fulu', 'osaka'] } as const
const amsterdam = { forks: ['gloas', 'amsterdam'] } as const

export const clientReleases: readonly ClientRelease[] = [
  { ...osaka, client: 'geth', version: [1, 16, 6], source: 'the first whose params/config.go schedules it on mainnet' },
  { ...osaka, client: 'prysm', version: [7, 0, 0], source: 'the first whose mainnet_config.go schedules it' },
  { ...amsterdam, client: 'geth', version: [1, 17, 8], source: 'crosses the fork in npm run test:nodes' },
]

/** `text`: what the client reports, such as `Geth/v1.17.8-stable/linux-amd64/go1.26.8`. Undefined: not older, or not known. */
export function describeOldClient(text: string, forks: readonly string[]): string | undefined {
  const [, client = '', ...numbers] = /^(\w+)\/v?(\d+)\.(\d+)\.(\d+)/.exec(text) ?? []
  const version = numbers.map(Number)
  const newer = clientReleases.filter(
    (release) =>
      release.client === client.toLowerCase() &&
      release.forks.some((fork) => forks.includes(fork)) &&
      isOlder(version, release.version),
  )
  const needed = newer.at(-1)
  if (!needed) return undefined
  const fork = needed.forks.find((name) => forks.includes(name))
  return `runs ${client} ${version.join('.')}, which is older than ${needed.version.join('.')}, the first known release for ${fork}`
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  const at = than.findIndex((number, index) => number !== version[index])
  return at >= 0 && (version[at] ?? 0) < (than[at] ?? 0)
}
