// The transfers of the chain's own coin in one block, in the order they happened (decision 0012). Pure: what the two
// trace forms mean is settled here and nowhere else.
//
// 1. A call, a creation or a self-destruct with value moves it. A delegate, static or code call moves nothing: the value
//    such a step shows is its caller's, or stays where it is.
// 2. What a step that failed did, and all that it called, did not happen.
// 3. Position 0 is the transaction itself. Internal transfers are counted from 1 over those that moved value: nodes
//    differ in which other steps they list, never in these.
import { Fault } from '#core/fault.ts'
import type { CallFrame, FlatTrace, Receipt, SeenBlock, Transaction } from '#io/evm/blocks.ts'
import type { Funding } from './fundings.ts'

export interface Transfer {
  readonly block: number
  readonly timeUnix: number
  readonly tx: string
  readonly txIndex: number
  readonly position: number
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
}

/** What one step moved; `top` for the transaction's own. */
interface Move {
  readonly top: boolean
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
}

export function transfersOf({ block, insight }: SeenBlock): Transfer[] {
  const flat =
    insight.form === 'flat' ? Map.groupBy(insight.traces, (one) => one.transactionHash?.toLowerCase() ?? '') : undefined
  return block.transactions.flatMap((tx, at) => {
    const moves = flat
      ? flatMoves(flat.get(tx.hash) ?? [])
      : insight.form === 'nested'
        ? nestedMoves(insight.frames[at], true)
        : insight.form === 'receipts'
          ? plainMoves(tx, insight.receipts[at])
          : []
    let internal = 0
    return moves
      .filter(({ valueWei }) => valueWei > 0n)
      .map(({ top, ...move }) => ({
        block: block.number,
        timeUnix: block.timeUnix,
        tx: tx.hash,
        txIndex: tx.index,
        position: top ? 0 : ++internal,
        ...move,
      }))
  })
}

/** The first transfer to each address, as rows. A transfer to oneself funds nobody. */
export function fundingsOf(chain: string, transfers: Iterable<Transfer>): Funding[] {
  const first = new Map<string, Transfer>()
  for (const transfer of transfers) {
    const known = first.get(transfer.to)
    if (transfer.from !== transfer.to && (!known || isBefore(transfer, known))) first.set(transfer.to, transfer)
  }
  return [...first.values()].map(({ from, to, ...rest }) => ({ chain, address: to, funder: from, ...rest }))
}

type Place = Pick<Transfer, 'block' | 'txIndex' | 'position'>

export const isBefore = (a: Place, b: Place): boolean =>
  a.block !== b.block ? a.block < b.block : a.txIndex !== b.txIndex ? a.txIndex < b.txIndex : a.position < b.position

/** Steps in the order they are listed, parents first; those below a failed one are left out. */
function flatMoves(traces: readonly FlatTrace[]): Move[] {
  const failed: (readonly number[])[] = []
  const moves: Move[] = []
  for (const trace of traces) {
    const { traceAddress } = trace
    if (failed.some((above) => above.every((step, depth) => traceAddress[depth] === step))) continue
    if (trace.error !== undefined) failed.push(traceAddress)
    else {
      const move = flatMove(trace)
      if (move) moves.push({ top: traceAddress.length === 0, ...move })
    }
  }
  return moves
}

/** Whether a listed step moved value, as far as it tells by itself: what called it may have failed. */
export const movesValue = (trace: FlatTrace): boolean => trace.error === undefined && flatMove(trace) !== undefined

function flatMove({ type, action, result }: FlatTrace): Omit<Move, 'top'> | undefined {
  switch (type) {
    case 'call':
      return action.callType === 'call' ? move(action.from, action.to, action.value) : undefined
    case 'create':
      return move(action.from, result?.address, action.value)
    case 'suicide':
    case 'selfdestruct':
      return move(action.address, action.refundAddress, action.balance)
    default:
      return undefined
  }
}

const movingFrames: ReadonlySet<string> = new Set(['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'])

function nestedMoves(frame: CallFrame | undefined, top: boolean): Move[] {
  if (!frame || frame.error !== undefined) return []
  const own = movingFrames.has(frame.type.toUpperCase()) ? move(frame.from, frame.to, frame.value ?? '0x0') : undefined
  const moves: Move[] = own ? [{ top, ...own }] : []
  for (const inner of frame.calls ?? []) moves.push(...nestedMoves(inner, false))
  return moves
}

/** Without traces only the transaction's own value is seen. */
function plainMoves(tx: Transaction, receipt: Receipt | undefined): Move[] {
  if (tx.valueWei === 0n) return []
  if (receipt?.succeeded === undefined) {
    // Before the chain recorded the outcome, only a trace can tell.
    throw new Fault('explorer.no_traces', { detail: `the receipt of ${tx.hash} does not tell whether it succeeded` })
  }
  const to = tx.to ?? receipt.contractAddress
  return receipt.succeeded && to ? [{ top: true, from: tx.from, to, valueWei: tx.valueWei }] : []
}

function move(from: unknown, to: unknown, value: unknown): Omit<Move, 'top'> | undefined {
  if (typeof from !== 'string' || typeof to !== 'string' || typeof value !== 'string') return undefined
  const valueWei = BigInt(value)
  return valueWei > 0n ? { from: from.toLowerCase(), to: to.toLowerCase(), valueWei } : undefined
}
