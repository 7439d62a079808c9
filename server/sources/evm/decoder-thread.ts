// The worker thread that decodes large responses (decoder.ts).
import { serveThread } from '#runtime/worker-thread.ts'
import { type DecodableCall, outcomesIn } from './batch-results.ts'

interface DecodeInput {
  readonly response: Uint8Array
  readonly firstId: number
  readonly calls: readonly Pick<DecodableCall, 'method' | 'resultKind'>[]
}

const handlers = {
  outcomes: async ({ response, firstId, calls }: DecodeInput) => ({
    value: outcomesIn(response, firstId, calls),
  }),
}

export type DecoderHandlers = typeof handlers

serveThread(handlers)
