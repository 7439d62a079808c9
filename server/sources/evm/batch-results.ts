// What the text of an answer says to each call of a batch. Pure, and the same on whichever thread it is read.
//
// 1. An answer is believed only for the id it carries. What is missing, doubled or of another id is no answer.

import { decodeResult, type ResultKind, validateResult } from './large-results.ts'
import { nodeErrorKind } from './node-errors.ts'

/** A call as far as its answer is concerned. */
export interface DecodableCall {
  readonly method: string
  readonly resultKind?: ResultKind
  /** What is wrong with the result, in words; undefined when it can be used. A result that is null never can. */
  readonly validate?: (result: unknown) => string | undefined
}

export type RpcOutcome =
  | { readonly is: 'result'; readonly result: unknown }
  /** The node refused this call. */
  | { readonly is: 'error'; readonly code: number; readonly message: string; readonly node?: string }
  /** Nothing, null, or something that cannot be right: worth asking again. */
  | { readonly is: 'unusable'; readonly message: string; readonly node?: string; readonly isTimeout?: true }

/** Outcomes in the order of the calls, whose ids count up from the first. */
export type BatchOutcomes = readonly RpcOutcome[] | 'not JSON' | 'batch refused'

export function outcomesIn(text: string, firstId: number, calls: readonly DecodableCall[]): BatchOutcomes {
  const replies = tryParse(text)
  if (replies === undefined) return 'not JSON'
  if (calls.length > 1 && isBatchRefusal(replies)) return 'batch refused'
  const byId = new Map<unknown, RpcReply>()
  for (const reply of [replies].flat() as RpcReply[]) byId.set(reply?.id, byId.has(reply?.id) ? doubled : reply)
  return calls.map((call, at) => toOutcome(call, byId.get(firstId + at)))
}

function tryParse(text: string): unknown {
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
  const error = replies.length === 1 ? (replies[0] as RpcReply | null)?.error : undefined
  return error ? nodeErrorKind(Number(error.code ?? 0), String(error.message)) === 'batch too large' : false
}

interface RpcReply {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly code?: unknown; readonly message?: unknown }
}

const doubled: RpcReply = { error: { code: 0, message: 'two answers carry the same id' } }
const messageCharsMax = 300
const nullMessage = 'the answer is null'

/** The node has answered, but has nothing to say. */
export const isNull = (outcome: RpcOutcome): boolean =>
  outcome.is === 'unusable' && outcome.message.endsWith(`: ${nullMessage}`)

function toOutcome(call: DecodableCall, reply: RpcReply | undefined): RpcOutcome {
  const unusable = (message: string): RpcOutcome => ({ is: 'unusable', message: `${call.method}: ${message}` })
  if (!reply || typeof reply !== 'object') return unusable('no answer')
  if (reply === doubled) return unusable('two answers carry the same id')
  if (reply.error) {
    const message = String(reply.error.message ?? 'an error without words').slice(0, messageCharsMax)
    return { is: 'error', code: Number(reply.error.code ?? 0), message: `${call.method}: ${message}` }
  }
  if (reply.result === undefined || reply.result === null) return unusable(nullMessage)
  const { resultKind } = call
  const validate = resultKind ? validateResult(resultKind, reply.result) : call.validate?.(reply.result)
  if (validate !== undefined) return unusable(validate)
  try {
    return { is: 'result', result: resultKind ? decodeResult(resultKind, reply.result) : reply.result }
  } catch (error) {
    return unusable(`cannot be read: ${(error as Error).message}`)
  }
}
