// The thread that takes large answers apart (decoder.ts): bytes go in, a few hundred small rows come out.
import { type Handed, serveThread } from '#runtime/worker-thread.ts'
import { type DecodableCall, outcomesIn } from './batch-results.ts'
import { toText } from './decoder.ts'

interface DecodeInput {
  readonly response: Uint8Array
  readonly firstId: number
  readonly calls: readonly DecodableCall[]
}

serveThread({
  outcomes: async ({ response: answer, firstId, calls }: DecodeInput): Promise<Handed> => ({
    value: outcomesIn(toText(answer), firstId, calls),
  }),
})
