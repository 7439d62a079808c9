// Requests the validators of a slot from the node: the whole state as SSZ or, if the node does not offer it, JSON lists.
import { epochAt } from '#sources/beacon/consensus.ts'
import type { ValidatorKeys } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { QuerySource } from './beacon-queries.ts'
import { StateSearch } from './states-not-found.ts'

/** If a node does not offer whole states, they are requested again after this many epochs. */
const wholeStatesPauseEpochs = 9

export class SlotStates {
  readonly #source: QuerySource
  /** Whole states of earlier epochs are not requested, because the node did not offer them. */
  #wholeStatesFromEpoch = 0
  /** The keys of the last state. The next state shares most of them. */
  #keys: ValidatorKeys | undefined

  constructor(source: QuerySource) {
    this.#source = source
  }

  /** Undefined: the node does not have the state. */
  async validatorsAtSlot(slot: number, search = new StateSearch()): Promise<Validators | undefined> {
    const { rules, queries } = this.#source
    const epoch = epochAt(rules, slot)
    if (epoch >= this.#wholeStatesFromEpoch) {
      const state = await search.result(queries.state(slot, this.#keys))
      if (state) {
        this.#keys = { pubkeys: state.validators.pubkeys, credentials: state.validators.credentials }
        return state.validators
      }
    }
    const validators = await search.result(queries.validators(slot))
    if (!validators) return undefined
    // The node has the state but does not offer it as a whole, maybe only for now.
    if (epoch >= this.#wholeStatesFromEpoch) this.#wholeStatesFromEpoch = epoch + wholeStatesPauseEpochs
    return { ...validators, pending: await search.result(queries.pending(slot)) }
  }
}
