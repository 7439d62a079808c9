// The attestation committees of one epoch: which validator had to attest in which slot, and at which position of an
// aggregate's bits.
import { figureOf, InvalidResponseError, readFields, readList } from './json.ts'

export interface Committees {
  readonly firstSlot: number
  readonly perSlot: number
  /** Index: (slot within the epoch) · perSlot + committee. */
  readonly members: readonly Uint32Array[]
}

const fieldName = 'committees'

/** `/eth/v1/beacon/states/{state}/committees?epoch=…` */
export function committeesFromJson(data: unknown, firstSlot: number, slots: number): Committees {
  const list = readList(data, fieldName)
  const perSlot = list.length / slots
  if (!Number.isInteger(perSlot) || perSlot < 1)
    throw new InvalidResponseError(`${list.length} committees for ${slots} slots`)
  const members: (Uint32Array | undefined)[] = new Array(list.length).fill(undefined)
  for (const member of list) {
    const fields = readFields(member, fieldName)
    const at = (figureOf(fields.slot, 'slot') - firstSlot) * perSlot + figureOf(fields.index, 'index')
    if (!(at >= 0 && at < members.length) || members[at])
      throw new InvalidResponseError('a committee is outside the epoch, or listed twice')
    const validators = readList(fields.validators, 'validators')
    const committee = new Uint32Array(validators.length)
    for (let position = 0; position < committee.length; position++)
      committee[position] = figureOf(validators[position], 'validators')
    members[at] = committee
  }
  return { firstSlot, perSlot, members: complete(members) }
}

function complete(members: readonly (Uint32Array | undefined)[]): Uint32Array[] {
  if (members.some((committee) => !committee)) throw new InvalidResponseError('a committee is missing')
  return members as Uint32Array[]
}
