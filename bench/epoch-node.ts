// A simulated beacon node for the epoch benchmark, in a process of its own. It prepares blocks and states (Electra,
// SSZ) in memory and serves them over HTTP. Ingest verifies block roots and balances, so the roots are real, and the
// balances are computed with the rules of the server. `POST /finalized/N` sets the finalized epoch.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { blockFromSsz } from '#sources/beacon/block-ssz.ts'
import { blockTypeOf } from '#sources/beacon/block-type.ts'
import { committeesFromJson } from '#sources/beacon/committees.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import { rootOf as sszRoot } from '#sources/beacon/ssz-type.ts'
import { stateFromSsz, type Validators } from '#sources/beacon/validators.ts'
import { processEpoch } from '#validators/ingest/epochs/process-epoch.ts'
import { Sums } from '#validators/ingest/epochs/sums.ts'

const count = Number(process.argv[2])
const firstEpoch = Number(process.argv[3])
const lastEpoch = Number(process.argv[4])
const genesisUnix = process.argv[5] ?? '0'
const slotsPerEpoch = 32
const committeesPerSlot = 64
const spec = {
  ALTAIR_FORK_EPOCH: '0',
  BELLATRIX_FORK_EPOCH: '0',
  CAPELLA_FORK_EPOCH: '0',
  DENEB_FORK_EPOCH: '0',
  ELECTRA_FORK_EPOCH: '0',
}
const rules = readRules(spec)

let balancesAt = 0

/** Only the fields that ingest reads are set: validators, balances, scores. */
function makeState(): Buffer {
  const start = 8 + 32 + 8 + 16 + 112 + 64 * rules.historicalRoots
  const layout = {
    validators: start + 4 + 72 + 4 + 8,
    participation: start + 4 + 72 + 4 + 8 + 8 + 32 * rules.historicalMixes + 8 * rules.slashingsVector,
  }
  const scoresAt = layout.participation + 8 + 1 + 120
  // Two sync committees, the payload header, withdrawal indices, summaries, churn fields and three queues.
  const queuesAt = scoresAt + 4 + 2 * 513 * 48 + 4 + 16 + 4 + 48
  const head = queuesAt + 12
  const bytes = Buffer.alloc(head + count * (121 + 8 + 1 + 1 + 8))
  for (let at = 0; at < 3; at++) bytes.writeUInt32LE(bytes.length, queuesAt + at * 4)
  const offsets = [head, head + count * 121, head + count * 129, head + count * 130, head + count * 131]
  bytes.writeUInt32LE(offsets[0] as number, layout.validators)
  bytes.writeUInt32LE(offsets[1] as number, layout.validators + 4)
  bytes.writeUInt32LE(offsets[2] as number, layout.participation)
  bytes.writeUInt32LE(offsets[3] as number, layout.participation + 4)
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
  balancesAt = offsets[1] as number
  return bytes
}

const seats = Math.floor(count / slotsPerEpoch)
const blockType = blockTypeOf('electra', rules)
const roots = new Map<number, Buffer>()
const headers = new Map<number, Record<string, string>>()

/** One aggregate of all committees of the previous slot, and a second one that repeats half of the votes. */
function makeBlock(slot: number): Buffer {
  const attestations = [0.99, 0.5].map((share, nth) => {
    const bits = Buffer.alloc(Math.floor(seats / 8) + 1)
    for (let seat = 0; seat < seats; seat++)
      if ((seat * 7 + nth + slot) % 100 < share * 100) bits[seat >> 3] = (bits[seat >> 3] as number) | (1 << (seat & 7))
    bits[seats >> 3] = (bits[seats >> 3] as number) | (1 << (seats & 7))
    const head = Buffer.alloc(4 + 128 + 96 + 8)
    head.writeUInt32LE(head.length, 0)
    const dutySlot = slot - 1 - nth
    head.writeBigUInt64LE(BigInt(dutySlot), 4)
    rootOf(dutySlot).copy(head, 20)
    head.writeBigUInt64LE(BigInt(Math.floor(dutySlot / slotsPerEpoch)), 92)
    rootOf(Math.floor(dutySlot / slotsPerEpoch) * slotsPerEpoch).copy(head, 100)
    head.fill(0xff, 228, 236)
    return Buffer.concat([head, bits])
  })
  const list = Buffer.alloc(8)
  list.writeUInt32LE(8, 0)
  list.writeUInt32LE(8 + (attestations[0] as Buffer).length, 4)
  const attestationBytes = Buffer.concat([list, ...attestations])
  // About as many bytes of transactions as in blocks of mainnet.
  const transactions = { count: 150, bytes: 700 }
  const payload = Buffer.alloc(528 + transactions.count * (4 + transactions.bytes), 5)
  payload.fill(0, 0, 528)
  payload.writeUInt32LE(528, 436)
  payload.fill(9, 472, 504)
  payload.writeUInt32LE(528, 504)
  payload.writeUInt32LE(payload.length, 508)
  for (let at = 0; at < transactions.count; at++)
    payload.writeUInt32LE(transactions.count * 4 + at * transactions.bytes, 528 + at * 4)
  const fixed = Buffer.alloc(200 + 20 + 64 + 96 + 16)
  // Proposer slashings, attester slashings, attestations, deposits, exits: only the third list is not empty.
  for (let at = 0; at < 5; at++)
    fixed.writeUInt32LE(fixed.length + (at > 2 ? attestationBytes.length : 0), 200 + at * 4)
  fixed.fill(0xff, 220, 284)
  const payloadAt = fixed.length + attestationBytes.length
  for (let at = 0; at < 4; at++) fixed.writeUInt32LE(at === 0 ? payloadAt : payloadAt + payload.length, 380 + at * 4)
  // The body ends with three empty lists of requests.
  const requests = Buffer.alloc(12)
  for (let at = 0; at < 3; at++) requests.writeUInt32LE(12, at * 4)
  const message = Buffer.alloc(84)
  message.writeBigUInt64LE(BigInt(slot), 0)
  message.writeBigUInt64LE(BigInt(slot % count), 8)
  rootOf(slot - 1).copy(message, 16)
  message.writeUInt32LE(84, 80)
  const signed = Buffer.alloc(100)
  signed.writeUInt32LE(100, 0)
  const body = Buffer.concat([fixed, attestationBytes, payload, requests])
  headers.set(slot, {
    slot: String(slot),
    proposer_index: String(slot % count),
    parent_root: `0x${rootOf(slot - 1).toString('hex')}`,
    state_root: `0x${'00'.repeat(32)}`,
    body_root: sszRoot(blockType.message.fields.body, body),
  })
  const block = Buffer.concat([message, body])
  roots.set(slot, Buffer.from(sszRoot(blockType.message, block).slice(2), 'hex'))
  return Buffer.concat([signed, block])
}

/** Slots before the first block have an arbitrary root. */
const rootOf = (slot: number): Buffer => roots.get(slot) ?? Buffer.alloc(32, 3)

function committeesText(epoch: number): string {
  const groups = slotsPerEpoch * committeesPerSlot
  // A simple shuffle: neighbours in a committee are far apart in the registry.
  const step = 611_953
  const members = Array.from({ length: groups }, (_, at) => {
    const slot = Math.floor(at / committeesPerSlot)
    const [from, until] = [0, 1].map(
      (more) => slot * seats + Math.floor((seats * ((at % committeesPerSlot) + more)) / committeesPerSlot),
    )
    const indices: string[] = []
    for (let seat = from as number; seat < (until as number); seat++) indices.push(`"${(seat * step) % count}"`)
    return `{"index":"${at % committeesPerSlot}","slot":"${epoch * slotsPerEpoch + slot}","validators":[${indices.join()}]}`
  })
  return `{"data":[${members.join()}]}`
}

const state = makeState()
const blocks = new Map<number, Buffer>()
for (let slot = (firstEpoch - 1) * slotsPerEpoch; slot <= lastEpoch * slotsPerEpoch; slot++)
  blocks.set(slot, makeBlock(slot))
const committees = new Map<number, string>()
for (let epoch = firstEpoch - 1; epoch <= lastEpoch; epoch++) committees.set(epoch, committeesText(epoch))
const syncSeats = Array.from({ length: 512 }, (_, at) => at * 3)
const balances = balancesByEpoch()
let finalized = firstEpoch

/** Balances as the rules compute them from the blocks, starting at 32 ETH; encoded as in a state. */
function balancesByEpoch(): Map<number, Uint8Array> {
  const { validators } = stateFromSsz(new View(state), rules)
  const byEpoch = new Map([[firstEpoch - 1, validators.balance]])
  let carry: Parameters<typeof processEpoch>[2]
  for (let epoch = firstEpoch - 1; epoch < lastEpoch; epoch++) {
    const first = epoch * slotsPerEpoch
    const at = (of: Float64Array): Validators => ({ ...validators, balance: of })
    const now = byEpoch.get(epoch) as Float64Array
    const slots = Array.from({ length: 2 * slotsPerEpoch }, (_, at) => first + at)
    const sums = new Sums()
    const data = {
      epoch,
      blocks: slots
        .flatMap((slot) => blocks.get(slot) ?? [])
        .map((bytes) => blockFromSsz(new View(bytes), 'electra', rules)),
      committees: committeesFromJson(JSON.parse(committees.get(epoch) as string).data, first, slotsPerEpoch),
      proposers: Array.from({ length: slotsPerEpoch }, (_, slot) => (first + slot) % count),
      sync: { now: syncSeats, next: syncSeats },
      now: at(now),
      next: at(now),
      finalizedEpoch: epoch,
    }
    const processed = processEpoch(rules, data, carry, sums, { accept: () => true })
    carry = processed.carry
    const { validator, sums: columns } = sums.take()
    const next = now.slice()
    for (const [position, index] of validator.entries())
      next[index] = (next[index] as number) + (columns.earnings[position] as number)
    byEpoch.set(epoch + 1, next)
  }
  return new Map([...byEpoch].map(([epoch, gwei]) => [epoch, new Uint8Array(BigUint64Array.from(gwei, BigInt).buffer)]))
}

function respond(path: string): object | Buffer | string | undefined {
  const number = Number(/(\d+)(?:$|\/(?:committees|finality|sync|validators))/.exec(path)?.[1] ?? 0)
  if (path.includes('/genesis')) return { genesis_time: genesisUnix, genesis_validators_root: `0x${'22'.repeat(32)}` }
  if (path.includes('/spec')) return spec
  if (path.includes('/blocks/')) return blocks.get(number)
  if (path.includes('/headers/')) {
    const message = headers.get(number)
    return message && { root: `0x${rootOf(number).toString('hex')}`, header: { message } }
  }
  if (path.includes('/debug/')) {
    state.writeBigUInt64LE(BigInt(number), 40)
    const epochBalances = balances.get(number / slotsPerEpoch)
    if (!epochBalances) return undefined
    state.set(epochBalances, balancesAt)
    return state
  }
  if (path.includes('finality')) {
    const epoch = path.includes('head') ? finalized : Math.floor(number / slotsPerEpoch) - 2
    return { finalized: { epoch: String(epoch) } }
  }
  if (path.includes('/committees')) return committees.get(Number(path.split('=')[1]))
  if (path.includes('sync')) return { validators: syncSeats.map(String) }
  if (!path.includes('proposer')) return undefined
  return Array.from({ length: slotsPerEpoch }, (_, at) => ({
    slot: String(number * slotsPerEpoch + at),
    validator_index: String((number * slotsPerEpoch + at) % count),
  }))
}

function send(response: ServerResponse, body: object | Buffer | string | undefined): void {
  if (body === undefined) response.writeHead(404).end('{}')
  else if (Buffer.isBuffer(body)) {
    const headers = { 'content-type': 'application/octet-stream', 'eth-consensus-version': 'electra' }
    response.writeHead(200, { ...headers, 'content-length': body.length }).end(body)
  } else {
    const text = typeof body === 'string' ? body : JSON.stringify({ data: body })
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }
}

const server = createServer(({ method, url = '/' }, response) => {
  if (method === 'POST' && url.startsWith('/finalized/')) {
    finalized = Number(url.split('/')[2])
    send(response, {})
  } else send(response, method === 'GET' ? respond(url) : undefined)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
