// Maps the text of a response to the outcome of each call in a batch. Pure: the main thread and the decoder thread use
// it.
//
// 1. A result counts only for the id it carries. A missing, repeated or unknown id is not a result.

import { JsonBytes, nameHash, UnexpectedJson } from './json-bytes.ts'
import { type ResultKind, readResult } from './large-results.ts'
import { ReceiptReader } from './logged-receipts.ts'
import { nodeErrorKind } from './node-errors.ts'

/** What decoding needs to know about a call. */
export interface DecodableCall {
  readonly method: string
  readonly resultKind?: ResultKind | undefined
  /** Returns a problem of the result, or undefined. Null is always a problem. */
  readonly validate?: (result: unknown) => string | undefined
}

export type RpcOutcome =
  | { readonly is: 'result'; readonly result: unknown }
  /** The node refused this call. */
  | { readonly is: 'error'; readonly code: number; readonly message: string; readonly node?: string }
  /** Worth a retry. `reason` is undefined if the node did not return a result for this call. */
  | {
      readonly is: 'unusable'
      readonly message: string
      readonly node?: string
      /** `invalid`: the result fails validation. */
      readonly reason?: 'timeout' | 'null' | 'invalid'
    }

/** In the order of the calls, whose ids are consecutive. */
export type BatchOutcomes = readonly RpcOutcome[] | 'not JSON' | 'batch refused'

export function outcomesIn(
  response: Uint8Array | string,
  firstId: number,
  calls: readonly DecodableCall[],
): BatchOutcomes {
  const inPlace = typeof response === 'string' ? undefined : readInPlace(response, firstId, calls)
  if (inPlace) return inPlace
  const replies = tryParse(typeof response === 'string' ? response : toText(response))
  if (replies === undefined) return 'not JSON'
  if (calls.length > 1 && isBatchRefusal(replies)) return 'batch refused'
  const byId = new Map<unknown, RpcReply>()
  for (const reply of [replies].flat() as RpcReply[]) byId.set(reply?.id, byId.has(reply?.id) ? duplicate : reply)
  return calls.map((call, at) => toOutcome(call, byId.get(firstId + at)))
}

export const toText = (bytes: Uint8Array): string => new TextDecoder('utf-8').decode(bytes)

const [idName, resultName, errorName] = ['id', 'result', 'error'].map(nameHash)

/** Receipts with logs, if that is all that was requested. Undefined if anything is wrong: then all is parsed. */
function readInPlace(
  response: Uint8Array,
  firstId: number,
  calls: readonly DecodableCall[],
): readonly RpcOutcome[] | undefined {
  if (!calls.every(({ resultKind }) => resultKind?.as === 'logs')) return undefined
  const json = new JsonBytes(response)
  const receipts = new ReceiptReader(json)
  const outcomes: RpcOutcome[] = []
  const readResultOf = (id: number): void => {
    const kind = calls[id - firstId]?.resultKind
    if (kind?.as !== 'logs' || outcomes[id - firstId]) throw new UnexpectedJson()
    const result = receipts.readBlock(kind.block)
    if (typeof result === 'string') throw new UnexpectedJson()
    outcomes[id - firstId] = { is: 'result', result }
  }
  const readReply = (): void => {
    let id: number | undefined
    let resultAt: number | undefined
    let isRead = false
    for (let isOpen = json.begin('object'); isOpen; isOpen = json.hasNext('object')) {
      const name = json.name()
      if (name === idName && id === undefined) id = Number(json.word())
      else if (name === resultName && resultAt === undefined) {
        resultAt = json.at
        isRead = id !== undefined
        if (id === undefined) json.skip()
        else readResultOf(id)
      } else if (name === errorName && json.word() === 'null') continue
      // Of members with the same name, JSON.parse uses the last one.
      else if (name === idName || name === resultName || name === errorName) throw new UnexpectedJson()
      else json.skip()
    }
    if (id === undefined || resultAt === undefined) throw new UnexpectedJson()
    if (isRead) return
    const end = json.at
    json.at = resultAt
    readResultOf(id)
    json.at = end
  }
  try {
    if (json.isList()) for (let isOpen = json.begin('list'); isOpen; isOpen = json.hasNext('list')) readReply()
    else readReply()
  } catch (error) {
    if (error instanceof UnexpectedJson) return undefined
    throw error
  }
  return json.peek() === undefined && calls.every((_, at) => outcomes[at]) ? outcomes : undefined
}

function tryParse(text: string): unknown {
  try {
    // Not the lossless parser, which takes twice as long: amounts are hexadecimal strings.
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An object instead of a list, or a list that contains only the error. */
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

const duplicate: RpcReply = {}
const messageCharsMax = 300

export const isNull = (outcome: RpcOutcome): boolean => outcome.is === 'unusable' && outcome.reason === 'null'

function toOutcome(call: DecodableCall, reply: RpcReply | undefined): RpcOutcome {
  const unusable = (message: string, reason?: 'null' | 'invalid'): RpcOutcome => ({
    is: 'unusable',
    message: `${call.method}: ${message}`,
    ...(reason && { reason }),
  })
  if (!reply || typeof reply !== 'object') return unusable('no result')
  if (reply === duplicate) return unusable('two results have the same id')
  if (reply.error) {
    const message = String(reply.error.message ?? 'an error without a message').slice(0, messageCharsMax)
    return { is: 'error', code: Number(reply.error.code ?? 0), message: `${call.method}: ${message}` }
  }
  if (reply.result === undefined || reply.result === null) return unusable('the result is null', 'null')
  const { resultKind } = call
  if (!resultKind) {
    const problem = call.validate?.(reply.result)
    return problem === undefined ? { is: 'result', result: reply.result } : unusable(problem, 'invalid')
  }
  const read = readResult(resultKind, reply.result)
  return 'problem' in read ? unusable(read.problem, 'invalid') : { is: 'result', result: read.value }
}
