// Writes the rows of several ranges in one transaction (decisions/write-first-fundings-in-address-order.md). The rows of
// a range are spread over most pages of the table, so few large transactions change fewer pages than many small ones.
//
// 1. Rows and coverage of a range are in the same transaction.
// 2. Ranges that were read before a failure are written. If one of them cannot be written, the ranges before it are.
import type { Range } from '#core/ranges.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { putHead } from '../chain-coverage.ts'
import { type Funding, putFundings } from '../fundings.ts'
import { coverLinkedRange, type LinkedRange } from './continuity.ts'
import { putLoggedBlocks } from './transfer-logs.ts'

export interface ReadRange extends LinkedRange {
  /** The first funding of each address within the range. */
  readonly fundings: readonly Funding[]
  /** The blocks that were read from logs. */
  readonly logged: readonly Range[]
}

/** Other writes wait for a transaction, about 30 µs per row. */
const rowsPerWrite = 10_000
const rangesPerWrite = 8
/** With a slow node, each range is written when it has been read. */
const waitMaxMs = 5000

/** `onWritten` is called after each transaction. */
export function createRangeWriter(
  { ingest, clock }: Pick<ExplorerContext, 'ingest' | 'clock'>,
  chain: string,
  finalUntil: number,
  onWritten: (blocks: number, rows: number) => void,
) {
  let waiting: ReadRange[] = []
  let waitingRows = 0
  let lastWriteMs = clock.monotonicMs()

  async function write(ranges: readonly ReadRange[]): Promise<void> {
    const fundings = ranges.flatMap((range) => range.fundings)
    const blocks = ranges.reduce((sum, { from, until }) => sum + until - from, 0)
    const rows = await ingest.write(
      async (tx) => {
        const written = await putFundings(tx, fundings)
        for (const range of ranges) {
          await coverLinkedRange(tx, chain, range)
          await putLoggedBlocks(tx, chain, range, range.logged)
        }
        await putHead(tx, chain, finalUntil)
        return written
      },
      { lock: `chain:${chain}` },
    )
    onWritten(blocks, rows)
  }

  /** Writes the waiting ranges. */
  async function flush(): Promise<void> {
    const ranges = waiting
    waiting = []
    waitingRows = 0
    lastWriteMs = clock.monotonicMs()
    if (ranges.length === 0) return
    try {
      await write(ranges)
    } catch (error) {
      if (ranges.length === 1) throw error
      for (const range of ranges) await write([range])
    }
  }

  return {
    flush,
    /** Writes the range now or with later ones. */
    async add(range: ReadRange): Promise<void> {
      waiting.push(range)
      waitingRows += range.fundings.length
      const isDue =
        waitingRows >= rowsPerWrite ||
        waiting.length >= rangesPerWrite ||
        clock.monotonicMs() - lastWriteMs >= waitMaxMs
      if (isDue) await flush()
    },
  }
}
