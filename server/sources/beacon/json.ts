// Reads the JSON of the Beacon API, in which numbers are decimal strings. A value of the wrong type is an error that
// names the field, so that an invalid response cannot lead to a wrong rating.
import { toFigure } from './consensus.ts'

export class InvalidResponseError extends Error {
  override readonly name = 'InvalidResponseError'
}

/** A block is of another fork than the one that is scheduled: the fork was scheduled after the rules were read. */
export class UnscheduledForkError extends InvalidResponseError {}

/** A response does not fit what another response said. */
export class MismatchError extends InvalidResponseError {}

export type Fields = Readonly<Record<string, unknown>>

export function readFields(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidResponseError(`${name} is not an object`)
  return value as Fields
}

export function readList(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidResponseError(`${name} is not a list`)
  return value
}

const numberPattern = /^\d{1,20}$/

/** Values above 2^53, such as FAR_FUTURE_EPOCH, become Infinity. */
export function figureOf(value: unknown, name: string): number {
  if (typeof value !== 'string' || !numberPattern.test(value))
    throw new InvalidResponseError(`${name} is not a decimal string`)
  return value.length < 16 ? Number(value) : toFigure(BigInt(value))
}

const hexPattern = /^0x(?:[0-9a-f]{2})*$/i

export function readBytes(value: unknown, name: string): Uint8Array {
  if (typeof value !== 'string' || !hexPattern.test(value))
    throw new InvalidResponseError(`${name} is not a hexadecimal string`)
  return Buffer.from(value.slice(2), 'hex')
}

export function hexOf(value: unknown, name: string, bytes: number): string {
  if (typeof value !== 'string' || value.length !== 2 + bytes * 2 || !hexPattern.test(value)) {
    throw new InvalidResponseError(`${name} is not a hexadecimal string of ${bytes} bytes`)
  }
  return value.toLowerCase()
}
