// The next change of the rules that an execution node schedules, from `eth_config` (EIP-7910). The answer does not name
// forks: they are recognized by their contracts.
import type { Rpc } from './rpc.ts'

export interface NextChainFork {
  /** `amsterdam`, `more blobs`, or `unknown fork`. */
  readonly name: string
  readonly atMs: number
  /** Whether this version of Tetrad supports it. */
  readonly isKnown: boolean
}

/** Contracts and precompiles that a fork adds to those of the fork before it. Forks before Osaka are never next. */
const amsterdamAdds = ['BUILDER_DEPOSIT_CONTRACT_ADDRESS', 'BUILDER_EXIT_CONTRACT_ADDRESS']

interface Rules {
  readonly atMs: number
  readonly contracts: readonly string[]
  readonly blobs: string
}

/** Null: none is scheduled. Undefined: the node does not offer `eth_config`, or returned something else. */
export async function readNextChainFork(rpc: Rpc, untilMs: number): Promise<NextChainFork | null | undefined> {
  const call = { method: 'eth_config', params: [], acceptsError: true } as const
  const [outcome] = await rpc.call([call], { untilMs, attemptsMax: 1 })
  return outcome?.is === 'result' ? parseNextFork(outcome.result) : undefined
}

export function parseNextFork(result: unknown): NextChainFork | null | undefined {
  const { current, next } = fieldsOf(result)
  if (next === null) return null
  const [before, after] = [toRules(current), toRules(next)]
  if (!after) return undefined
  const name = before ? nameOf(before, after) : undefined
  return { name: name ?? 'unknown fork', atMs: after.atMs, isKnown: name !== undefined }
}

function nameOf(before: Rules, after: Rules): string | undefined {
  const added = after.contracts.filter((name) => !before.contracts.includes(name))
  if (added.join() === amsterdamAdds.join()) return 'amsterdam'
  return added.length === 0 && before.blobs !== after.blobs ? 'more blobs' : undefined
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

function toRules(value: unknown): Rules | undefined {
  const { activationTime, precompiles, systemContracts, blobSchedule } = fieldsOf(value)
  const seconds = typeof activationTime === 'string' ? Number(activationTime) : activationTime
  if (!Number.isSafeInteger(seconds)) return undefined
  const contracts = [precompiles, systemContracts].flatMap((list) => Object.keys(fieldsOf(list))).sort()
  return { atMs: (seconds as number) * 1000, contracts, blobs: JSON.stringify(blobSchedule) }
}
