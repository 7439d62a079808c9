// The endpoints of the simulated beacon node.
import type { IncomingMessage } from 'node:http'
import type { Fork } from '#sources/beacon/consensus.ts'
import { blockBytes, headerJson } from './encode-block.ts'
import {
  attesterDutiesJson,
  blockJson,
  blockReward,
  committeesJson,
  payloadDutiesJson,
  pendingConsolidationsJson,
  pendingDepositsJson,
  pendingPartialWithdrawalsJson,
  proposerDutiesJson,
  syncDutiesJson,
  syncRewards,
  validatorJson,
  voteRewards,
} from './encode-json.ts'
import { stateBytes } from './encode-state.ts'
import { builderJson, envelopeBytes, envelopeJson } from './gloas/encode-gloas.ts'
import type { BeaconNodeOptions } from './node.ts'
import type { Missing } from './node-profile.ts'
import { NodeView } from './node-view.ts'
import { forkOf, specOf } from './plan.ts'
import { genesisHeader, genesisRoot, type SimulatedNetwork, type Snapshot } from './records.ts'

interface ErrorReply {
  readonly status: number
  /** JSON, or plain text if it is a string. */
  readonly body: unknown
}

export type NodeReply =
  /** `more`: members of the body besides `data`. */
  | { readonly json: unknown; readonly version?: Fork; readonly more?: object }
  | { readonly bytes: Buffer; readonly version: Fork }
  | ErrorReply

export class BeaconApi {
  readonly #network: SimulatedNetwork
  readonly #options: BeaconNodeOptions
  readonly #view: NodeView

  constructor(network: SimulatedNetwork, options: BeaconNodeOptions) {
    this.#network = network
    this.#options = options
    this.#view = new NodeView(network, options)
  }

  async respond(request: IncomingMessage, body: string): Promise<NodeReply> {
    const url = new URL(request.url ?? '/', 'http://node')
    const acceptsSsz = request.headers.accept?.includes('application/octet-stream') === true
    const [, , , area = '', kind = '', id = '', resource = '', validator = ''] = url.pathname.split('/')
    const routes: Readonly<Record<string, () => NodeReply | Promise<NodeReply>>> = {
      'node/version': () => ({ json: { version: this.#view.profile.version } }),
      'node/syncing': () => this.#syncing(),
      'beacon/genesis': () => ({ json: genesisOf(this.#network) }),
      'config/spec': () => ({ json: this.#spec() }),
      'beacon/headers': () => this.#header(id),
      'beacon/blocks': () => this.#block(id, acceptsSsz),
      'beacon/execution_payload_envelopes': () => this.#envelope(id, acceptsSsz),
      'beacon/states': () => this.#state(id, resource, validator, url.searchParams.get('epoch'), body),
      'debug/beacon': () => this.#fullState(resource),
      ...(this.#view.profile.rewards && { 'beacon/rewards': () => this.#reward(id, resource, body) }),
      'validator/duties': () => this.#duties(id, Number(resource), body),
    }
    return routes[`${area}/${kind}`]?.() ?? this.#notFound('endpoint', url.pathname)
  }

  #notFound(missing: Missing, id: string | number): ErrorReply {
    const { errors, errorMembers, unknownPathText } = this.#view.profile
    const [status, text] = errors[missing]
    if (missing === 'endpoint' && unknownPathText !== undefined) return { status, body: unknownPathText }
    return { status, body: { code: status, message: text.replace('{id}', String(id)), ...errorMembers } }
  }

  #spec(): object {
    const { listsConstant = () => true } = this.#view.profile
    const spec = specOf(this.#network.plan, this.#options.chainId ?? '1')
    return Object.fromEntries(Object.entries(spec).filter(([name]) => listsConstant(name)))
  }

  /** Does not search the newest block: a live network would first have to simulate its whole past. */
  #syncing(): NodeReply {
    const flags = { is_syncing: false, is_optimistic: false, el_offline: false }
    return { json: { head_slot: String(this.#network.headSlot), sync_distance: '0', ...flags } }
  }

  async #header(id: string): Promise<NodeReply> {
    const block = await this.#view.findBlock(id)
    if (!block && (await this.#view.slotOf(id)) !== 0 && id !== genesisRoot) return this.#notFound('block', id)
    const message = block ? headerJson(block, this.#network.plan) : genesisHeader
    const signature = `0x${'00'.repeat(96)}`
    const root = block?.root ?? genesisRoot
    const canonical = !block || (await this.#view.blockAt(block.slot))?.root === root
    return { json: { root, canonical, header: { message, signature } }, more: await this.#status(block?.slot ?? 0) }
  }

  async #block(id: string, acceptsSsz: boolean): Promise<NodeReply> {
    const block = await this.#view.findBlock(id)
    if (!block) return this.#notFound('block', id)
    const version = block.fork
    return this.#view.profile.ssz && acceptsSsz
      ? { bytes: blockBytes(block, this.#network.plan), version }
      : { json: blockJson(block), version, more: { version, ...(await this.#status(block.slot)) } }
  }

  /** Since Gloas, what a block only has a bid for. */
  async #envelope(id: string, acceptsSsz: boolean): Promise<NodeReply> {
    const { envelopes, envelopesFromSlot, ssz } = this.#view.profile
    if (!envelopes) return this.#notFound('endpoint', `/eth/v1/beacon/execution_payload_envelopes/${id}`)
    const block = await this.#view.findBlock(id)
    if (!block) return this.#notFound('block', id)
    const { gloas, slot } = block
    if (!gloas) return this.#notFound('early envelope', slot)
    if (slot < envelopesFromSlot(await this.#view.limits())) return this.#notFound('pruned envelope', slot)
    const isPublished = gloas.delivery === 'full' || (gloas.delivery === 'late' && slot < this.#network.headSlot)
    if (!isPublished) return this.#notFound('envelope', slot)
    return ssz && acceptsSsz
      ? { bytes: envelopeBytes(block, gloas, this.#network.plan), version: 'gloas' }
      : {
          json: envelopeJson(block, gloas),
          version: 'gloas',
          more: { version: 'gloas', ...(await this.#status(slot)) },
        }
  }

  /** Members that the Beacon API adds to responses about a block or state. */
  async #status(slot: number): Promise<object> {
    return { execution_optimistic: false, finalized: slot <= (await this.#view.limits()).finalizedSlot }
  }

  async #snapshot(id: string): Promise<{ readonly slot: number; readonly state: Snapshot } | ErrorReply> {
    const { emptyHead, forgetsEmpty } = this.#view.profile
    const requested = await this.#view.slotOf(id)
    if (!(await this.#view.hasState(requested))) return this.#notFound('pruned state', requested)
    const head = (await this.#view.head()).blockSlot
    const isAfterHead = requested > head
    const slot = isAfterHead && emptyHead === 'of head block' ? head : requested
    const record = requested <= this.#network.headSlot ? await this.#view.epochOfSlot(slot) : undefined
    if (isAfterHead && emptyHead === 'missing') return this.#notFound('state', requested)
    if (record && forgetsEmpty && slot !== 0 && !record.blocks.has(slot))
      return this.#notFound('pruned state', requested)
    const state = record?.states[slot % this.#network.plan.slotsPerEpoch]
    return state ? { slot, state } : this.#notFound('state', requested)
  }

  async #state(
    id: string,
    resource: string,
    validator: string,
    requestedEpoch: string | null,
    body: string,
  ): Promise<NodeReply> {
    const more = await this.#status(await this.#view.slotOf(id))
    if (id === 'head' && resource === 'finality_checkpoints')
      return {
        json: await this.#checkpoints(await this.#view.finalized(), (await this.#view.head()).justified),
        more,
      }
    const found = await this.#snapshot(id)
    if ('status' in found) return found
    const { slot, state } = found
    if (resource === 'builders')
      return state.gloas ? { json: buildersOf(state, body), more } : this.#notFound('builders', slot)
    const epoch = requestedEpoch === null ? this.#view.epochOf(slot) : Number(requestedEpoch)
    const json = await this.#stateJson(resource, state, validator, epoch)
    return json === undefined
      ? this.#notFound(validator ? 'validator' : 'endpoint', validator || resource)
      : { json, more }
  }

  async #stateJson(resource: string, state: Snapshot, validator: string, epoch: number): Promise<unknown> {
    const { plan } = this.#network
    const resources: Readonly<Record<string, () => unknown>> = {
      finality_checkpoints: () => this.#checkpoints(state.finalized, state.justified),
      validators: () => validatorsOf(state, validator),
      validator_balances: () =>
        state.validators.map(({ balance }, index) => ({ index: String(index), balance: String(balance) })),
      pending_deposits: () => (this.#view.profile.queues ? pendingDepositsJson(state) : undefined),
      pending_partial_withdrawals: () => (this.#view.profile.queues ? pendingPartialWithdrawalsJson(state) : undefined),
      proposer_lookahead: () => state.lookahead.map(String),
      pending_consolidations: () => (this.#view.profile.queues ? pendingConsolidationsJson(state) : undefined),
      committees: async () => {
        const record = await this.#network.epoch(epoch)
        return record && committeesJson(record, plan)
      },
      sync_committees: async () => {
        const record = await this.#network.epoch(epoch)
        return record && { validators: record.sync.map(String), validator_aggregates: [] }
      },
    }
    return resources[resource]?.()
  }

  async #checkpoints(finalized: number, justifiedEpoch: number): Promise<object> {
    const { slotsPerEpoch } = this.#network.plan
    const checkpoint = async (epoch: number) => ({
      epoch: String(epoch),
      root: await this.#view.rootUpTo(epoch * slotsPerEpoch),
    })
    const justified = await checkpoint(Math.max(finalized, justifiedEpoch))
    return { previous_justified: justified, current_justified: justified, finalized: await checkpoint(finalized) }
  }

  async #fullState(id: string): Promise<NodeReply> {
    if (!this.#view.profile.states) return this.#notFound('endpoint', 'debug/beacon/states')
    const found = await this.#snapshot(id)
    if ('status' in found) return found
    const { plan } = this.#network
    return {
      bytes: stateBytes(found.slot, found.state, plan),
      version: forkOf(plan, this.#view.epochOf(found.slot)),
    }
  }

  async #duties(kind: string, epoch: number, body: string): Promise<NodeReply> {
    const { plan } = this.#network
    const firstSlot = epoch * plan.slotsPerEpoch
    if (!(await this.#view.hasState(firstSlot))) return this.#notFound('pruned duties', firstSlot)
    const record = await this.#network.epoch(epoch)
    if (!record) return this.#notFound('duties', epoch)
    // Attester duties are fixed one epoch earlier than proposer duties.
    const more = {
      execution_optimistic: false,
      ...(kind !== 'sync' && {
        dependent_root: await this.#view.rootUpTo(
          (kind === 'proposer' ? firstSlot : firstSlot - plan.slotsPerEpoch) - 1,
        ),
      }),
    }
    if (kind === 'proposer') return { json: proposerDutiesJson(record), more }
    const requested = new Set((JSON.parse(body) as string[]).map(Number))
    if (kind === 'ptc' && record.payloadCommittees.length === 0) return this.#notFound('early payload duties', epoch)
    const kinds: Readonly<Record<string, () => unknown>> = {
      sync: () => syncDutiesJson(record, requested),
      ptc: () => payloadDutiesJson(record, record.states[0]?.validators ?? [], requested),
      attester: () => attesterDutiesJson(record, plan, requested),
    }
    const json = kinds[kind]?.()
    return json === undefined ? this.#notFound('endpoint', `/eth/v1/validator/duties/${kind}`) : { json, more }
  }

  async #reward(kind: string, id: string, body: string): Promise<NodeReply> {
    const { attestationRewards, statesFromSlot, rewardStatesFromSlot = statesFromSlot } = this.#view.profile
    if (kind === 'attestations') {
      if (!attestationRewards) return this.#notFound('endpoint', `/eth/v1/beacon/rewards/attestations/${id}`)
      // The chain pays them at the start of the epoch after the next one; the node computes them from the state before.
      const paidIn = Number(id) + 2
      const slot = paidIn * this.#network.plan.slotsPerEpoch - 1
      const isKnown =
        paidIn <= this.#view.epochOf(this.#network.headSlot) && slot >= rewardStatesFromSlot(await this.#view.limits())
      const record = isKnown ? await this.#network.epoch(paidIn) : undefined
      if (!record) return this.#notFound('attestation rewards', slot)
      const requested = new Set((JSON.parse(body) as string[]).map(Number))
      return { json: voteRewards(record, requested), more: await this.#status(slot) }
    }
    const block = await this.#view.findBlock(id)
    if (!block) return this.#notFound('block', id)
    if (!(await this.#view.hasState(block.slot - 1))) return this.#notFound('block rewards', id)
    const seats = (await this.#view.epochOfSlot(block.slot))?.sync ?? []
    const json = kind === 'blocks' ? blockReward(block) : syncRewards(block, seats)
    return { json, more: await this.#status(block.slot) }
  }
}

const genesisOf = ({ genesisUnix }: SimulatedNetwork) => ({
  genesis_time: String(genesisUnix),
  genesis_validators_root: `0x${'22'.repeat(32)}`,
  genesis_fork_version: '0x00000000',
})

function buildersOf({ gloas, finalized }: Snapshot, body: string): unknown {
  const { ids = [], statuses = [] } = JSON.parse(body || '{}') as { ids?: string[]; statuses?: string[] }
  return (gloas?.builders ?? [])
    .map((builder, index) => builderJson(builder, index, finalized))
    .filter(({ index, status, builder }) => {
      const isNamed = ids.length === 0 || ids.includes(index) || ids.includes(builder.pubkey)
      return isNamed && (statuses.length === 0 || statuses.includes(status))
    })
}

function validatorsOf({ validators }: Snapshot, id: string): unknown {
  if (id === '') return validators.map(validatorJson)
  const index = id.startsWith('0x') ? validators.findIndex(({ pubkey }) => pubkey === id) : Number(id)
  const validator = validators[index]
  return validator && validatorJson(validator, index)
}
