// The worker thread that decodes large responses (decoder.ts).
import { type Handed, serveThread } from '#runtime/worker-thread.ts'
import { type DecodableCall, outcomesIn } from './batch-results.ts'

interface DecodeInput {
  readonly response: Uint8Array
  readonly firstId: number
  readonly calls: readonly DecodableCall[]
}

serveThread({
  outcomes: async ({ response, firstId, calls }: DecodeInput): Promise<Handed> => ({
    value: outcomesIn(response, firstId, calls),
  }),
})
