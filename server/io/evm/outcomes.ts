// What the text of an answer says to each call of a batch. Pure, and the same on whichever thread it is read.
//
// 1. An answer is believed only for the id it carries. What is missing, doubled or of another id is no answer.
import { nodeErrorKind } from './node-errors.ts'
import { type Reading, readAs, wrongWith } from './readings.ts'

/** A call as far as its answer is concerned. */
export interface Asked {
  readonly method: string
  readonly reading?: Reading
  /** What is wrong with the result, in words; undefined when it can be used. A result that is null never can. */
  readonly wrong?: (result: unknown) => string | undefined
}

export type RpcOutcome =
  | { readonly is: 'result'; readonly result: unknown }
  /** The node refused this call. */
  | { readonly is: 'error'; readonly code: number; readonly words: string; readonly node?: string }
  /** Nothing, null, or something that cannot be right: worth asking again. */
  | { readonly is: 'unusable'; readonly words: string; readonly node?: string; readonly isTimeout?: true }

/** Outcomes in the order of the calls, whose ids count up from the first. */
export type Answered = readonly RpcOutcome[] | 'not JSON' | 'batch refused'

export function outcomesIn(text: string, firstId: number, calls: readonly Asked[]): Answered {
  const replies = parsed(text)
  if (replies === undefined) return 'not JSON'
  if (calls.length > 1 && isBatchRefusal(replies)) return 'batch refused'
  const byId = new Map<unknown, Reply>()
  for (const reply of [replies].flat() as Reply[]) byId.set(reply?.id, byId.has(reply?.id) ? doubled : reply)
  return calls.map((call, at) => outcomeOf(call, byId.get(firstId + at)))
}

function parsed(text: string): unknown {
  try {
    // Plain: amounts travel as hexadecimal text, and the lossless reader costs twice the time on megabytes of traces.
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An object in place of a list, or a list whose only member is the refusal. */
function isBatchRefusal(replies: unknown): boolean {
  if (!Array.isArray(replies)) return true
  const error = replies.length === 1 ? (replies[0] as Reply | null)?.error : undefined
  return error ? nodeErrorKind(Number(error.code ?? 0), String(error.message)) === 'batch too large' : false
}

interface Reply {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly code?: unknown; readonly message?: unknown }
}

const doubled: Reply = { error: { code: 0, message: 'two answers carry the same id' } }
const wordsMax = 300
const nullWords = 'the answer is null'

/** The node has answered, but has nothing to say. */
export const isNull = (outcome: RpcOutcome): boolean =>
  outcome.is === 'unusable' && outcome.words.endsWith(`: ${nullWords}`)

function outcomeOf(call: Asked, reply: Reply | undefined): RpcOutcome {
  const unusable = (words: string): RpcOutcome => ({ is: 'unusable', words: `${call.method}: ${words}` })
  if (!reply || typeof reply !== 'object') return unusable('no answer')
  if (reply === doubled) return unusable('two answers carry the same id')
  if (reply.error) {
    const words = String(reply.error.message ?? 'an error without words').slice(0, wordsMax)
    return { is: 'error', code: Number(reply.error.code ?? 0), words: `${call.method}: ${words}` }
  }
  if (reply.result === undefined || reply.result === null) return unusable(nullWords)
  const { reading } = call
  const wrong = reading ? wrongWith(reading, reply.result) : call.wrong?.(reply.result)
  if (wrong !== undefined) return unusable(wrong)
  try {
    return { is: 'result', result: reading ? readAs(reading, reply.result) : reply.result }
  } catch (error) {
    return unusable(`cannot be read: ${(error as Error).message}`)
  }
}
