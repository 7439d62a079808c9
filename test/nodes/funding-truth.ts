// The first funding of every address, from the traces of `callTracer`, with balances as a second proof. Shares no code with
// Tetrad.
import { mapFew, rpc } from './calls.ts'

export interface TrueFunding {
  readonly block: number
  readonly tx: string
  readonly from: string
  readonly value: bigint
}

interface Frame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly value?: string
  readonly error?: string
  readonly calls?: readonly Frame[]
}

const moving = new Set(['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'])

/** In the order of the execution. What a frame that failed has moved was undone. */
function* transfersOf({
  type,
  from,
  to,
  value = '0x0',
  error,
  calls = [],
}: Frame): Generator<{ from: string; to: string; value: bigint }> {
  if (error !== undefined) return
  if (moving.has(type) && to !== undefined && from !== to && BigInt(value) > 0n)
    yield { from, to, value: BigInt(value) }
  for (const call of calls) yield* transfersOf(call)
}

export interface FundingTruth {
  readonly first: ReadonlyMap<string, TrueFunding>
  /** Every address that appears in a trace. */
  readonly seen: ReadonlySet<string>
  readonly contracts: ReadonlySet<string>
}

/** Of the blocks up to `last`. */
export async function readFundings(url: string, last: number): Promise<FundingTruth> {
  const first = new Map<string, TrueFunding>()
  const seen = new Set<string>()
  const contracts = new Set<string>()
  const numbers = Array.from({ length: last }, (_, at) => at + 1)
  const traces = await mapFew(numbers, (number) =>
    rpc(url, 'debug_traceBlockByNumber', [`0x${number.toString(16)}`, { tracer: 'callTracer' }]),
  )
  for (const [at, block] of traces.entries())
    for (const { txHash, result } of block as readonly { readonly txHash: string; readonly result: Frame }[]) {
      note(result)
      for (const { from, to, value } of transfersOf(result))
        if (!first.has(to)) first.set(to, { block: at + 1, tx: txHash, from, value })
    }
  return { first, seen, contracts }

  function note({ type, from, to, calls = [], error }: Frame): void {
    seen.add(from)
    if (to !== undefined) seen.add(to)
    if (to !== undefined && type.startsWith('CREATE') && error === undefined) contracts.add(to)
    for (const call of calls) note(call)
  }
}

/** Whether the balance of an account was 0 before the block of its first funding, and is the value or more after it. */
export async function hasFirstBalance(url: string, address: string, { block, value }: TrueFunding): Promise<boolean> {
  const balanceAt = async (number: number) =>
    BigInt((await rpc(url, 'eth_getBalance', [address, `0x${number.toString(16)}`])) as string)
  return (await balanceAt(block - 1)) === 0n && (await balanceAt(block)) >= value
}
