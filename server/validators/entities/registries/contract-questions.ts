// Asks contracts many questions with one eth_call: a program, which is not stored on the chain, calls each of them. So what a
// hostile contract returns, such as an error with the text of a node without states, is never taken for an error of the node.
//
// A question is a function with at most one argument of 32 bytes. An answer is the size and the first word of what was
// returned. A contract that reverts, or takes more than its share of the gas, has none.
import { strict as assert } from 'node:assert'
import { keccak256 } from '#sources/evm/keccak256.ts'

export interface Question {
  readonly to: string
  /** An address or 32 bytes. A function without parameters ignores it. */
  readonly argument?: string
}

export interface Answer {
  /** Bytes that were returned. 0: there is no contract. */
  readonly size: number
  /** The first 32 bytes, as hexadecimal digits. */
  readonly word: string
}

/** Together, they stay below the gas limit of a transaction (EIP-7825). */
export const questionsPerCall = 100
const gasPerQuestion = '0186a0'
export const gasOfCall = 16_000_000

/** The first four bytes of the hash of a signature such as `vaults(address)`, as hexadecimal digits. */
export const selectorOf = (signature: string): string => keccak256(Buffer.from(signature)).slice(0, 8)

const programLength = 0x5b
const loopAt = 0x16
const endAt = 0x56

/**
 * The stack has the size of the questions, and the position of the next one. Memory has the questions, which their answers
 * replace, then the selector with the argument, then the returned word.
 */
const programFor = (selector: string): string =>
  [
    `60${hexByte(programLength)}3803`, // size = CODESIZE − length
    `8060${hexByte(programLength)}600039`, // CODECOPY of the questions to 0
    `63${selector}60e01b8152`, // MSTORE of the selector at size
    '6000', // position = 0
    `5b8181101560${hexByte(endAt)}57`, // loop: if position >= size, go to end
    '8060200151', // the argument, from position + 32
    '8260040152', // MSTORE at size + 4
    '60008260400152', // MSTORE of 0 at size + 64
    '6020826040016024', // 32 bytes to size + 64, from 36 bytes
    '848451', // at size, of the contract at position
    `62${gasPerQuestion}fa`, // STATICCALL
    '3d600101028152', // MSTORE at position: RETURNDATASIZE + 1, or 0 if it failed
    '81604001518160200152', // MSTORE of the returned word at position + 32
    '604001', // position += 64
    `60${hexByte(loopAt)}56`, // go to loop
    '5b506000f3', // end: RETURN of size bytes from 0
  ].join('')

function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0')
}

const wordOf = (hex: string): string => hex.replace(/^0x/i, '').toLowerCase().padStart(64, '0')

/** The `data` of an eth_call without `to`, which asks each of these contracts the same function. */
export function encodeQuestions(selector: string, questions: readonly Question[]): string {
  assert(questions.length <= questionsPerCall, 'too many questions')
  const words = questions.map(({ to, argument = '' }) => wordOf(to) + wordOf(argument))
  return `0x${programFor(selector)}${words.join('')}`
}

/** What `encodeQuestions` has written; undefined: it was not. For simulated nodes. */
export function decodeQuestions(data: string): { selector: string; questions: Question[] } | undefined {
  const selector = data.slice(24, 32)
  const start = 2 + programLength * 2
  if (data.slice(2, start) !== programFor(selector)) return undefined
  const words = data.slice(start).match(/.{128}/g) ?? []
  const questions = words.map((word) => ({ to: `0x${word.slice(24, 64)}`, argument: `0x${word.slice(64)}` }))
  return { selector, questions }
}

/** The reply to `encodeQuestions`. For simulated nodes. */
export const encodeAnswers = (answers: readonly (Answer | undefined)[]): string =>
  `0x${answers.map((answer) => (answer ? wordOf((answer.size + 1).toString(16)) + wordOf(answer.word) : wordOf('').repeat(2))).join('')}`

/** In the order of the questions; undefined instead of an answer: the contract reverted. Undefined: not such a reply. */
export function decodeAnswers(reply: string, count: number): (Answer | undefined)[] | undefined {
  if (!/^0x[0-9a-f]*$/i.test(reply) || reply.length !== 2 + count * 128) return undefined
  return Array.from({ length: count }, (_, at) => {
    const [head, word] = [reply.slice(2 + at * 128, 66 + at * 128), reply.slice(66 + at * 128, 130 + at * 128)]
    const size = Number(BigInt(`0x${head}`)) - 1
    return size < 0 ? undefined : { size, word: word.toLowerCase() }
  })
}
