// If a node alters one response, the epoch is not stored and the error says why. Once the node has recovered, the
// correct figures are stored. If there is a second node, it is used.
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { BeaconNodeOptions, SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type Alteration, bytesAt, jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { emptyDuties, storedRows } from '#test/stored-duties.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'

const network = 'hoodi'
const slotsPerEpoch = 4
const world = simulateNetwork('contradiction', {
  ...{ epochs: 10, outage: { from: 0, until: 0 }, slashing: 0, missed: 0.05, orphaned: 0, balanceChanges: 0.4 },
  ...{ slotsPerEpoch, validators: 24, committeesPerSlot: 2, forkEpochs: presentForks, hasExecution: false },
})
/** The altered responses are about this epoch or the next one. */
const epoch = 4
const firstSlot = epoch * slotsPerEpoch
const slot =
  [...world.blocks.values()].find((block) => block.slot > firstSlot + 1 && block.attestations.length > 0)?.slot ?? 0

const nodes: SimulatedBeaconNode[] = []
after(() => Promise.all(nodes.map((node) => node[Symbol.asyncDispose]())))
/** Each case alters a certain form of answers, so the client does not decide which forms the node has. */
async function nodeWith(options: BeaconNodeOptions): Promise<SimulatedBeaconNode> {
  const node = await openNodeOfRun(world, { ssz: false, states: false, rewards: false, ...options })
  nodes.push(node)
  return node
}
const wholeStates = await nodeWith({ ssz: true, states: true })
const jsonOnly = await nodeWith({})
const withoutQueues = await nodeWith({ queues: false })

const context = await openContext()
after(() => context[Symbol.asyncDispose]())

/** With the chain times of the node. */
let settings = context.settings

async function followerOf(urls: readonly string[], log: TestContext['log'] = context.log): Promise<Follower> {
  const hoodi = { epochsPerHour: 3, epochsPerDay: 6, beacon: { urls: [...urls], fromEpoch: 0 } }
  settings = await withChainTimes({
    ...context,
    settings: settingsWith({ validators: { networks: { [network]: hoodi } } }),
    clock: systemClock,
  })
  const beacon = openBeacon({ network, urls, timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
  return new Follower({ ...context, settings, log }, network, beacon)
}

const { signal } = new AbortController()
const rows = async () => JSON.stringify(await storedRows({ ...context, settings }, network, 'hours'))

async function empty(): Promise<void> {
  await emptyDuties(context)
  await context.ingest.write((tx) => tx.run('delete from validators'))
}

afterEach(empty)

async function figuresOf(url: string): Promise<string> {
  await (await followerOf([url])).catchUp(signal)
  const figures = await rows()
  await empty()
  return figures
}
const truth = await figuresOf(wholeStates.url)

interface Block {
  message: { parent_root: string; body: { attestations: { aggregation_bits: string }[] } }
}
interface ListedValidator {
  balance: string
  validator: { effective_balance: string; pubkey: string; withdrawal_credentials: string }
}
const flip = (text: string): string => text.slice(0, 2) + (text[2] === '0' ? '1' : '0') + text.slice(3)
const flipLast = (text: string): string => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')
const blockPath = new RegExp(`/blocks/${slot}$`)
const listPath = new RegExp(`/states/${firstSlot}/validators$`)
const gwei = 1_000_000_000

const cases: readonly (readonly [name: string, node: SimulatedBeaconNode, change: Alteration, message: RegExp])[] = [
  [
    'a wrong parent root',
    jsonOnly,
    jsonAt<Block>(blockPath, ({ message }) => {
      message.parent_root = flip(message.parent_root)
    }),
    new RegExp(
      `epoch \\d, slot ${slot}: the parent root of the block is 0x\\w+, but the root of the block of slot \\d+ is 0x`,
    ),
  ],
  [
    'a flipped bit of an attestation in JSON',
    jsonOnly,
    jsonAt<Block>(blockPath, ({ message: { body } }) => {
      const [attestation] = body.attestations
      if (attestation) attestation.aggregation_bits = flip(attestation.aggregation_bits)
    }),
    /the parent root of the block is 0x\w+, but the root of the block of slot \d+ is/,
  ],
  [
    'a flipped bit of a block in SSZ',
    wholeStates,
    bytesAt(blockPath, (bytes) => {
      // A byte of the first field of the body, the randao reveal.
      const at = 100 + 84 + 7
      bytes[at] = (bytes[at] as number) ^ 1
    }),
    /the parent root of the block is 0x\w+, but the root of the block of slot \d+ is/,
  ],
  [
    'a validator list without its last entry',
    jsonOnly,
    jsonAt<ListedValidator[]>(listPath, (list) => list.slice(0, -1)),
    /the registry shrinks from \d+ to \d+ validators|the balance of validator \d+ differs by 32000000000 gwei/,
  ],
  [
    'a wrong effective balance',
    jsonOnly,
    jsonAt<ListedValidator[]>(listPath, (list) => {
      const { validator } = list[7] as ListedValidator
      validator.effective_balance = String(Number(validator.effective_balance) - gwei)
    }),
    new RegExp(
      `epoch ${epoch - 1}: the state of slot ${firstSlot} does not follow .* the effective balance of validator 7`,
    ),
  ],
  [
    'a wrong balance',
    jsonOnly,
    jsonAt<ListedValidator[]>(listPath, (list) => {
      const validator = list[7] as ListedValidator
      validator.balance = String(Number(validator.balance) + 1)
    }),
    /the balance of validator 7 differs by 1 gwei/,
  ],
  [
    'another public key',
    jsonOnly,
    jsonAt<ListedValidator[]>(listPath, (list) => {
      const { validator } = list[7] as ListedValidator
      validator.pubkey = flip(validator.pubkey)
    }),
    /the public key of validator 7 changes/,
  ],
  [
    'another withdrawal address',
    jsonOnly,
    jsonAt<ListedValidator[]>(listPath, (list) => {
      const { validator } = list[7] as ListedValidator
      validator.withdrawal_credentials = flipLast(validator.withdrawal_credentials)
    }),
    /the withdrawal credentials of validator 7 change/,
  ],
  [
    'committees whose members are swapped',
    wholeStates,
    jsonAt<{ validators: string[] }[]>(new RegExp(`/committees\\?epoch=${epoch}$`), (list) => {
      const [last, ...others] = list.flatMap(({ validators }) => validators).toReversed()
      const members = [last as string, ...others.toReversed()]
      for (const committee of list) committee.validators = members.splice(0, committee.validators.length)
    }),
    /the balance of validator/,
  ],
  [
    'a finalized epoch that is too old, as in an inactivity leak',
    wholeStates,
    jsonAt(new RegExp(`/states/${firstSlot + 3 * slotsPerEpoch}/finality`), () => ({
      finalized: { epoch: '0', root: '0x' },
    })),
    /the balance of validator/,
  ],
]

for (const [name, node, change, message] of cases) {
  test(`${name}: the epoch is not stored until the node has recovered`, async () => {
    await using proxy = await openAlteringProxy(node.url, change)
    const follower = await followerOf([proxy.url])
    const error = await follower.catchUp(signal).then(
      () => assert.fail('the epoch was stored'),
      (thrown: Error) => thrown,
    )
    assert.equal(error.name, 'ContradictionError')
    assert.match(error.message, message)
    assert(error.message.endsWith(`; node ${proxy.url}`), error.message)
    assert(proxy.count() > 0)
    const covered = (await coveredEpochs(context.duties, network)).at(-1)?.until ?? 0
    assert(covered < world.finalized - 1, `epochs up to ${covered} are stored`)
    proxy.alter()
    await follower.catchUp(signal)
    assert.equal(await rows(), truth)
  })
}

test('a second node without contradictions is used, and the log names the difference', async () => {
  const [, node, change] = cases[1] as (typeof cases)[number]
  await using proxy = await openAlteringProxy(node.url, change)
  const warnings: { reason?: string }[] = []
  const warn = (fields: object) => void warnings.push(fields)
  const follower = await followerOf([proxy.url, wholeStates.url], {
    ...context.log,
    warn,
  } as unknown as TestContext['log'])
  await follower.catchUp(signal)
  assert.equal(await rows(), truth)
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]?.reason ?? '', new RegExp(`parent root.*; node ${proxy.url}; used ${wholeStates.url}$`))
})

test('a balance difference that two nodes agree on is stored', async () => {
  const change = jsonAt<ListedValidator[]>(/\/states\/\d+\/validators$/, (list) => {
    const validator = list[7] as ListedValidator
    validator.balance = String(Number(validator.balance) + 5)
  })
  const fromEpoch: Alteration = (response) =>
    Number(/\/states\/(\d+)\//.exec(response.path)?.[1] ?? 0) >= firstSlot ? change(response) : undefined
  await using first = await openAlteringProxy(jsonOnly.url, fromEpoch)
  await using second = await openAlteringProxy(jsonOnly.url, fromEpoch)
  await assert.rejects((await followerOf([first.url])).catchUp(signal), /the balance of validator 7 differs by 5 gwei/)
  await (await followerOf([first.url, second.url])).catchUp(signal)
  const stored = (await rows()).replace('"deposited":5', '"deposited":0')
  assert.equal(stored, truth, 'it counts as deposited, not as earnings')
  const changes = await context.duties.all(
    'select epoch, validators, in_gwei, out_gwei from unexplained_balance_changes',
  )
  assert.deepEqual(changes, [{ epoch: epoch - 1, validators: 1, in_gwei: 5, out_gwei: 0 }])
})

test('a node without pending queues is accepted if few balances are unexplained', async () => {
  assert.equal(await figuresOf(withoutQueues.url), truth)
  const many = jsonAt<ListedValidator[]>(listPath, (list) => {
    for (const validator of list) validator.balance = String(Number(validator.balance) + 1)
  })
  await using proxy = await openAlteringProxy(withoutQueues.url, many)
  await assert.rejects((await followerOf([proxy.url])).catchUp(signal), /and \d+ more; node/)
})

test('if a node has states but not the blocks of an epoch, the error names the missing blocks', async () => {
  await using proxy = await openAlteringProxy(jsonOnly.url)
  // As after a sync from a checkpoint in epoch 4.
  proxy.alter((response) => {
    const { path, status, type, body } = response
    const at = /\/(?:blocks|headers)\/(\d+)$/.exec(path)?.[1]
    const isMissing = at !== undefined && Number(at) < firstSlot
    return isMissing
      ? { status: 404, type, body: Buffer.from('{"code":404,"message":"not found"}') }
      : { status, type, body }
  })
  await assert.rejects(
    (await followerOf([proxy.url])).catchUp(signal),
    /epoch 0: the node returned no block of slots 0 to 7\. A node that was synced from a checkpoint .*: the balance of/,
  )
})
