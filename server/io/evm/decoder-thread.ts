// The thread that takes large answers apart (decoder.ts): bytes go in, a few hundred small rows come out.
import { type Handed, serveThread } from '../thread.ts'
import { textOf } from './decoder.ts'
import { type Asked, outcomesIn } from './outcomes.ts'

interface Input {
  readonly answer: Uint8Array
  readonly firstId: number
  readonly calls: readonly Asked[]
}

serveThread({
  outcomes: async ({ answer, firstId, calls }: Input): Promise<Handed> => ({
    value: outcomesIn(textOf(answer), firstId, calls),
  }),
})
