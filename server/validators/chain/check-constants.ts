// Compares the constants of a node with those of the library. Presets and settings are taken over from the node; constants
// are part of the rules. A difference means that the node follows another version of the specification.
import * as library from '@lodestar/params'
import { libraryVersion } from './library-version.ts'

type Spec = Readonly<Record<string, unknown>>

const farFutureEpoch = '18446744073709551615'

/** Rules that no epoch before Gloas has. */
const sinceGloas = /^(BUILDER|PAYLOAD|PTC|DOMAIN_BEACON_BUILDER|DOMAIN_PTC)/

/** The error that a node follows other rules than the library. */
export class RulesError extends Error {
  override readonly name = 'RulesError'
}

/** Throws a RulesError. */
export function checkConstants(spec: Spec): void {
  const hasGloas = ![undefined, farFutureEpoch].includes(spec.GLOAS_FORK_EPOCH as string | undefined)
  const constants: Spec = library
  for (const [name, value] of Object.entries(spec)) {
    if (name in library.activePreset || typeof value !== 'string') continue
    const ours = constants[name]
    if (!['number', 'bigint'].includes(typeof ours) && !(ours instanceof Uint8Array)) continue
    if (numberOf(ours) === numberOf(value) || (sinceGloas.test(name) && !hasGloas)) continue
    const oursText = ours instanceof Uint8Array ? `0x${Buffer.from(ours).toString('hex')}` : String(ours)
    throw new RulesError(`${name} is ${value}, but ${oursText} in @lodestar/state-transition ${libraryVersion()}`)
  }
}

function numberOf(value: unknown): bigint | undefined {
  if (value === Number.POSITIVE_INFINITY) return BigInt(farFutureEpoch)
  try {
    return value instanceof Uint8Array ? BigInt(`0x${Buffer.from(value).toString('hex')}`) : BigInt(value as string)
  } catch {
    return undefined
  }
}
