// Validates traces of `callTracer`: each function returns a problem, or undefined (validate.ts). Which members are absent
// depends on the client and the type of the step. A step whose transfer cannot be read is rejected: skipping it would
// lose a funding.
import type { CallFrame } from './types.ts'
import {
  inTransaction,
  isAddress,
  isError,
  isMissing,
  isQuantity,
  lower,
  type TracedBlock,
  type TracedTransaction,
  validateFirstStep,
} from './validate.ts'

/** A transaction in the result of debug_traceBlockByNumber. `error`: the node could not trace it. */
export interface NestedTrace {
  readonly txHash?: string | null
  readonly result?: CallFrame | null
  readonly error?: unknown
}

export function validateNestedTraces(raw: unknown, { transactions }: TracedBlock): string | undefined {
  if (!Array.isArray(raw) || raw.length !== transactions.length) return 'not one trace for every transaction'
  for (const [at, tx] of transactions.entries()) {
    const trace = raw[at] as NestedTrace | null
    if (!isMissing(trace?.txHash) && lower(trace.txHash) !== tx.hash) return `transaction ${at} has no trace`
    const problem = isMissing(trace?.result) && trace?.error ? undefined : validateFrame(trace?.result, tx)
    if (problem !== undefined) return inTransaction(tx, problem)
  }
  return undefined
}

/** The call tree of a transaction. */
export function validateFrame(raw: unknown, tx: TracedTransaction): string | undefined {
  const problem = validateFrames(raw as CallFrame | null | undefined)
  if (problem !== undefined) return problem
  const { type, from, to, value, error } = raw as CallFrame
  return error ? undefined : validateFirstStep(tx, from, creations.has(type.toUpperCase()) ? null : to, value)
}

const creations: ReadonlySet<string> = new Set(['CREATE', 'CREATE2'])
const otherCalls: ReadonlySet<string> = new Set(['CALLCODE', 'DELEGATECALL', 'STATICCALL'])

/** More than the EVM allows. */
const depthMax = 2048

function validateFrames(frame: CallFrame | null | undefined, depth = 0): string | undefined {
  if (depth > depthMax) return `a trace has more than ${depthMax} nested calls`
  const { type, from, to, value, error, calls } = frame ?? {}
  if (typeof type !== 'string' || !isAddress(from)) return 'a trace is incomplete'
  if (!isError(error)) return 'the error of a trace is not a text'
  if (!(isMissing(value) || isQuantity(value))) return 'the value of a trace is not a number'
  const problem = validateTransfer(type, to, value, isMissing(error))
  if (problem !== undefined) return problem
  if (isMissing(calls)) return undefined
  if (!Array.isArray(calls)) return 'the calls of a trace are not a list'
  for (const inner of calls) {
    const innerProblem = validateFrames(inner, depth + 1)
    if (innerProblem !== undefined) return innerProblem
  }
  return undefined
}

/** A frame that may transfer value must have recipient and value: a missing value is unknown, not zero. */
function validateTransfer(type: string, to: unknown, value: unknown, hasSucceeded: boolean): string | undefined {
  const name = type.toUpperCase()
  if (name === 'SELFDESTRUCT') {
    // A contract that names itself as its heir transfers nothing. Nodes based on revm then return neither.
    const isToItself = isMissing(to) && isMissing(value)
    return isToItself || (isAddress(to) && isQuantity(value)) ? undefined : 'a self-destruct is incomplete'
  }
  const mayTransfer = name === 'CALL' || creations.has(name)
  if (!mayTransfer && !otherCalls.has(name)) return `unknown type of trace: ${type.slice(0, 40)}`
  // A failed creation has no address.
  if (!isAddress(to) && (hasSucceeded || !isMissing(to))) return 'a trace has no recipient'
  return mayTransfer && hasSucceeded && isMissing(value) ? 'a trace has no value' : undefined
}
