// Two relays, one of which alters one answer. What they state about a payload is true or unknown.
import assert from 'node:assert/strict'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { FetchError } from '#sources/http-client.ts'
import { openRelays } from '#validators/extensions/alerts/relays.ts'
import type { AlterationReport } from './altered-answer.ts'
import type { AlteredRun } from './altered-seeds.ts'
import { type AnswerRequest, serveAnswers } from './altering-proxy.ts'

export const relayWorlds = 20
const slotsCount = 8

interface BidTrace {
  readonly slot: string
  readonly block_hash: string
  readonly proposer_fee_recipient: string
}

interface Delivered {
  readonly slot: number
  readonly hash: string
  /** Null: no relay delivered the payload. */
  readonly recipient: string | null
}

/** Each slot has a payload, which one of the relays may have delivered, and other payloads. */
class RelayWorld {
  readonly payloads: readonly Delivered[]
  readonly #traces = new Map<string, readonly BidTrace[]>()

  constructor(number: number) {
    const draws = createSeededRandom(`relays ${number}`)
    this.payloads = Array.from({ length: slotsCount }, (_, at) => {
      const slot = 100 + at
      const trace = () => ({
        ...{ slot: String(slot), block_hash: `0x${draws.hex(64)}`, proposer_fee_recipient: `0x${draws.hex(40)}` },
        ...{ parent_hash: `0x${draws.hex(64)}`, gas_used: String(draws.whole(0, 30_000_000)), value: draws.hex(8) },
      })
      const delivered = trace()
      const by = draws.pick(['one', 'two', 'none'])
      for (const relay of ['one', 'two']) {
        const others = Array.from({ length: draws.whole(0, 3) }, trace)
        this.#traces.set(`/${relay} ${slot}`, draws.shuffled(relay === by ? [delivered, ...others] : others))
      }
      return { slot, hash: delivered.block_hash, recipient: by === 'none' ? null : delivered.proposer_fee_recipient }
    })
  }

  answer({ path }: AnswerRequest): { body: string } {
    const { pathname, searchParams } = new URL(path, 'http://relay')
    return { body: JSON.stringify(this.#traces.get(`/${pathname.split('/')[1]} ${searchParams.get('slot')}`)) }
  }
}

export async function openAlteredRelays(): Promise<AsyncDisposable & { readonly run: AlteredRun }> {
  let world = new RelayWorld(0)
  const server = await serveAnswers((request) => world.answer(request))
  const relays = openRelays([`${server.url}/one`, `${server.url}/two`])
  const run: AlteredRun = async (seed, alterer) => {
    world = new RelayWorld(seed % relayWorlds)
    server.alterer = alterer
    let refusals = 0
    const ask = async ({ slot, hash, recipient }: Delivered) => {
      const found = await relays.find(slot, hash)
      assert.equal(found?.proposerFeeRecipient ?? null, recipient, `payload of slot ${slot}`)
    }
    for (const payload of world.payloads) {
      await ask(payload).catch((error: unknown) => {
        if (!(error instanceof FetchError)) throw error
        refusals += 1
      })
    }
    alterer.stop()
    for (const payload of world.payloads) await ask(payload)
    return refusals > 0
  }
  return { run, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** Which address the builder paid (docs/security.md#relays). */
export const isBelievedOfRelays = ({ path }: AlterationReport): boolean => /^\d+\.proposer_fee_recipient$/.test(path)
