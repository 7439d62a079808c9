// Promise: a network of a million validators is ingested far faster than it lives. An epoch lasts 384 s; the goal is a
// hundredth of that on two cores, in at most 2 GiB. Blocks and states are SSZ made ahead of time (Electra), answered from memory;
// everything behind the socket is the real thing, down to the store.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { complete } from '#core/check.ts'
import { readRules } from '#core/consensus.ts'
import { SettingsSchema } from '#core/settings.ts'
import { Follower } from '#groups/validators/ingest/follow.ts'
import type { Beacon, BeaconReply, Chain } from '#io/beacon/client.ts'
import { silentLog } from '#io/log.ts'
import { openStores } from '#store/open.ts'

const count = Number(process.argv[2] ?? 1_000_000)
const hours = 2
const epochSeconds = 384
const slotsPerEpoch = 32
const committeesPerSlot = 64
const firstEpoch = 9

const rules = readRules({
  ALTAIR_FORK_EPOCH: '0',
  BELLATRIX_FORK_EPOCH: '0',
  CAPELLA_FORK_EPOCH: '0',
  DENEB_FORK_EPOCH: '0',
  ELECTRA_FORK_EPOCH: '0',
})

/** A state as far as it is read: validators, balances, scores. */
function makeState(): Buffer {
  const start = 8 + 32 + 8 + 16 + 112 + 64 * rules.historicalRoots
  const places = {
    validators: start + 4 + 72 + 4 + 8,
    participation: start + 4 + 72 + 4 + 8 + 8 + 32 * rules.historicalMixes + 8 * rules.slashingsVector,
  }
  const scoresAt = places.participation + 8 + 1 + 120
  const head = scoresAt + 4
  const bytes = Buffer.alloc(head + count * (121 + 8 + 1 + 1 + 8))
  const offsets = [head, head + count * 121, head + count * 129, head + count * 130, head + count * 131]
  bytes.writeUInt32LE(offsets[0] as number, places.validators)
  bytes.writeUInt32LE(offsets[1] as number, places.validators + 4)
  bytes.writeUInt32LE(offsets[2] as number, places.participation)
  bytes.writeUInt32LE(offsets[3] as number, places.participation + 4)
  bytes.writeUInt32LE(offsets[4] as number, scoresAt)
  const far = 2n ** 64n - 1n
  for (let index = 0; index < count; index++) {
    const at = head + index * 121
    bytes.writeUInt32LE(index, at)
    bytes[at + 48] = 1
    bytes.writeUInt32LE(index, at + 76)
    bytes.writeBigUInt64LE(32_000_000_000n, at + 80)
    bytes.writeBigUInt64LE(far, at + 105)
    bytes.writeBigUInt64LE(far, at + 113)
    bytes.writeBigUInt64LE(32_000_000_000n, (offsets[1] as number) + index * 8)
  }
  return bytes
}

const seats = Math.floor(count / slotsPerEpoch)

/** One aggregate over all committees of the slot before, and a second one that repeats the half of it. */
function makeBlock(slot: number): Buffer {
  const attestations = [0.99, 0.5].map((share, nth) => {
    const bits = Buffer.alloc(Math.floor(seats / 8) + 1)
    for (let seat = 0; seat < seats; seat++)
      if ((seat * 7 + nth + slot) % 100 < share * 100) bits[seat >> 3] = (bits[seat >> 3] as number) | (1 << (seat & 7))
    bits[seats >> 3] = (bits[seats >> 3] as number) | (1 << (seats & 7))
    const head = Buffer.alloc(4 + 128 + 96 + 8)
    head.writeUInt32LE(head.length, 0)
    const about = slot - 1 - nth
    head.writeBigUInt64LE(BigInt(about), 4)
    rootOf(about).copy(head, 20)
    head.writeBigUInt64LE(BigInt(Math.floor(about / slotsPerEpoch)), 92)
    rootOf(Math.floor(about / slotsPerEpoch) * slotsPerEpoch).copy(head, 100)
    head.fill(0xff, 228, 236)
    return Buffer.concat([head, bits])
  })
  const list = Buffer.alloc(8)
  list.writeUInt32LE(8, 0)
  list.writeUInt32LE(8 + (attestations[0] as Buffer).length, 4)
  const attestationBytes = Buffer.concat([list, ...attestations])
  const payload = Buffer.alloc(528 + 4 + 400)
  payload.writeUInt32LE(528, 436)
  payload.fill(9, 472, 504)
  payload.writeUInt32LE(528, 504)
  payload.writeUInt32LE(payload.length, 508)
  payload.writeUInt32LE(4, 528)
  const fixed = Buffer.alloc(200 + 20 + 64 + 96 + 16)
  // Proposer slashings, attester slashings, attestations, deposits, exits: only the third list holds anything.
  for (let at = 0; at < 5; at++)
    fixed.writeUInt32LE(fixed.length + (at > 2 ? attestationBytes.length : 0), 200 + at * 4)
  fixed.fill(0xff, 220, 284)
  const payloadAt = fixed.length + attestationBytes.length
  for (let at = 0; at < 4; at++) fixed.writeUInt32LE(at === 0 ? payloadAt : payloadAt + payload.length, 380 + at * 4)
  const message = Buffer.alloc(84)
  message.writeBigUInt64LE(BigInt(slot), 0)
  message.writeBigUInt64LE(BigInt(slot % count), 8)
  rootOf(slot - 1).copy(message, 16)
  message.writeUInt32LE(84, 80)
  const signed = Buffer.alloc(100)
  signed.writeUInt32LE(100, 0)
  return Buffer.concat([signed, message, fixed, attestationBytes, payload])
}

function rootOf(slot: number): Buffer {
  const root = Buffer.alloc(32, 3)
  root.writeInt32LE(slot, 0)
  return root
}

function committeesText(epoch: number): string {
  const groups = slotsPerEpoch * committeesPerSlot
  // A shuffle of sorts: neighbours in a committee are far apart in the registry.
  const step = 611_953
  const members = Array.from({ length: groups }, (_, at) => {
    const slot = Math.floor(at / committeesPerSlot)
    const [from, until] = [0, 1].map(
      (more) => slot * seats + Math.floor((seats * ((at % committeesPerSlot) + more)) / committeesPerSlot),
    )
    const own: string[] = []
    for (let seat = from as number; seat < (until as number); seat++) own.push(`"${(seat * step) % count}"`)
    return `{"index":"${at % committeesPerSlot}","slot":"${epoch * slotsPerEpoch + slot}","validators":[${own.join()}]}`
  })
  return `{"data":[${members.join()}]}`
}

const dir = mkdtempSync(join(tmpdir(), 'tetrad-epoch-'))
const stores = await openStores(dir)
try {
  const { value: settings } = complete(SettingsSchema, {
    validators: { networks: { mainnet: { beacon: { urls: ['http://bench'], fromEpoch: firstEpoch } } } },
  })
  const state = makeState()
  const blocks = new Map<number, Buffer>()
  const lastEpoch = firstEpoch + hours * 9 + 2
  for (let slot = (firstEpoch - 1) * slotsPerEpoch; slot <= lastEpoch * slotsPerEpoch; slot++)
    blocks.set(slot, makeBlock(slot))
  const committees = committeesText(0)
  let finalized = firstEpoch + 10
  const time = settings.validators.networks.mainnet
  const chain: Chain = {
    identity: { genesisUnix: time.genesisUnix, genesisRoot: '0x', slotSeconds: 12, slotsPerEpoch },
    rules,
  }
  const json = (data: unknown): BeaconReply => ({ is: 'json', body: { data }, version: undefined })
  const answer = (path: string): BeaconReply | undefined => {
    const number = Number(/(\d+)(?:$|\/(?:committees|finality|sync|validators))/.exec(path)?.[1] ?? 0)
    if (path.includes('/blocks/')) return { is: 'ssz', bytes: blocks.get(number) as Buffer, version: 'electra' }
    if (path.includes('/debug/')) {
      state.writeBigUInt64LE(BigInt(number), 40)
      return { is: 'ssz', bytes: state, version: 'electra' }
    }
    if (path.includes('finality'))
      return json({
        finalized: { epoch: String(path.includes('head') ? finalized : Math.floor(number / slotsPerEpoch) - 2) },
      })
    if (path.includes('/committees')) {
      const first = Number(path.split('=')[1]) * slotsPerEpoch
      const body = JSON.parse(committees) as { data: { slot: string }[] }
      for (const one of body.data) one.slot = String(first + Number(one.slot))
      return { is: 'json', body, version: undefined }
    }
    if (path.includes('sync')) return json({ validators: Array.from({ length: 512 }, (_, at) => String(at * 3)) })
    if (path.includes('proposer')) {
      return json(
        Array.from({ length: slotsPerEpoch }, (_, at) => ({
          slot: String(number * slotsPerEpoch + at),
          validator_index: String((number * slotsPerEpoch + at) % count),
        })),
      )
    }
    return undefined
  }
  const beacon: Beacon = {
    chain: async () => chain,
    ask: async (question, read) => {
      const reply = answer(question.path)
      return reply && read(reply)
    },
    health: () => [],
  }
  const follower = new Follower({ ...stores, settings, log: silentLog }, 'mainnet', beacon)
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 50)
  const seconds: number[] = []
  const cpuSeconds: number[] = []
  for (let hour = 0; hour < hours; hour++) {
    const startMs = performance.now()
    const cpu = process.cpuUsage()
    finalized = firstEpoch + (hour + 1) * 9 + 1
    await follower.catchUp(new AbortController().signal)
    seconds.push((performance.now() - startMs) / 1000)
    const used = process.cpuUsage(cpu)
    cpuSeconds.push((used.user + used.system) / 1e6)
    console.log(
      `hour ${hour}: 9 epochs in ${seconds[hour]?.toFixed(1)} s${hour === 0 ? ', with the registry and the pass before the first epoch' : ''}`,
    )
  }
  clearInterval(watch)
  const perEpoch = (seconds.at(-1) as number) / 9
  console.log(
    `${count} validators: ${perEpoch.toFixed(2)} s per epoch, ${(epochSeconds / perEpoch).toFixed(0)} × real time (goal ≥ 100 ×)`,
  )
  console.log(`processor time per epoch, all threads: ${((cpuSeconds.at(-1) as number) / 9).toFixed(2)} s`)
  console.log(`resident at most ${Math.round(most / 2 ** 20)} MiB (goal ≤ 2048)`)
} finally {
  await stores.close()
  rmSync(dir, { recursive: true, force: true })
}
