// Stored answers worked out once more from what they came from: a few at random, and what differs. One entry per kind of
// answer; a group that learns to derive something again adds an entry here (decision 0115).

import type { Receipt } from '#api/wire/fx-desk.ts'
import { type Network, networks } from '#api/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import { type Funding, hexOf, type StoredFunding, toFunding } from '#groups/explorer/fundings.ts'
import { type ChainNode, nodeOf } from '#groups/explorer/node.ts'
import { walk } from '#groups/explorer/probe-walk.ts'
import { fundingsOf, isBefore, transfersOf } from '#groups/explorer/transfers.ts'
import { signedReceipt } from '#groups/fx/receipt.ts'
import { checkReceipt } from '#groups/fx/receipt-check.ts'
import { writeMarket } from '#groups/markets/documents.ts'
import { loadLibrary, presentRecords } from '#groups/markets/library.ts'
import { measures } from '#groups/validators/measures.ts'
import { readValidator } from '#groups/validators/registry.ts'
import { dataOf, openBeacon } from '#io/beacon/client.ts'
import { readBlocks } from '#io/evm/blocks.ts'
import type { Desk } from '#serve/answer.ts'

export interface Rechecked {
  readonly checked: number
  /** Each in words: which answer, what is stored, what comes out now. */
  readonly differing: readonly string[]
  /** Why some could not be checked. */
  readonly unable?: string
}

export interface Recheck {
  /** What is derived from what. */
  readonly name: string
  readonly run: (desk: Desk, sampleSize: number) => Promise<Rechecked>
  /** What to do about a difference. */
  readonly todo: string
}

const probeMs = 30_000

/** A whole number from 0 up to and without `until`. */
function draw({ random }: Pick<Desk, 'random'>, until: number): number {
  const bytes = random.bytes(6)
  const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
  return Math.floor((value / 2 ** 48) * until)
}

async function sampled(count: number, one: () => Promise<string | undefined | 'none'>): Promise<Rechecked> {
  const differing = new Set<string>()
  let checked = 0
  for (let at = 0; at < count; at++) {
    const words = await one()
    if (words === 'none') break
    checked += 1
    if (words !== undefined) differing.add(words)
  }
  return { checked, differing: [...differing] }
}

/** The first row from a random key on, or from the beginning when there is none. */
const fromKey = async <R>(next: (from: string) => Promise<R | undefined>, key: string): Promise<R | undefined> =>
  (await next(key)) ?? (await next(''))

const marketDocuments: Recheck = {
  name: 'market documents from their records',
  todo: 'the document was changed outside the server, or a record was written without it; read the feed again in full',
  run: (desk, count) =>
    sampled(count, async () => {
      const count = await desk.state.get<{ count: number }>('select count(*) as count from market_documents')
      const row = await desk.state.get<{ market_id: string; etag: string; body: Uint8Array }>(
        'select market_id, etag, body from market_documents order by market_id limit 1 offset ?',
        draw(desk, count?.count ?? 0),
      )
      if (!row) return 'none'
      const library = await loadLibrary(presentRecords(desk.state), [row.market_id])
      const document = writeMarket(library, row.market_id, new Map())
      if (!document) return `market ${row.market_id}: there is a document but no record`
      const isSame = Buffer.compare(document.body, row.body) === 0 && document.etag === row.etag
      return isSame ? undefined : `market ${row.market_id}: its records give another document`
    }),
}

/** Days are sums of hours; hours that have expired cannot be added up. */
const dutyDays = (table: 'duty_days' | 'duty_utc_days', day: 'day' | 'utc_day'): Recheck => ({
  name: `validators’ ${day === 'day' ? 'chain' : 'UTC'} days from their hours`,
  todo: 'restore the facts from a backup, or delete the network’s rows and read them again',
  run: (desk, count) =>
    sampled(count, async () => {
      const { facts } = desk
      const places = await facts.query<{ network: Network; first: number; last: number }>(
        `select network, min(${day}) as first, max(${day}) as last from duty_hours group by network order by network`,
      )
      const place = places[draw(desk, places.length)]
      if (!place) return 'none'
      // The first day may have lost hours to expiry by the other kind of day.
      const at = Math.min(place.last, place.first + 1 + draw(desk, Math.max(1, place.last - place.first)))
      const who = await facts.query<{ validator: number }>(
        `select validator from ${table} where network = ? and ${day} = ? order by validator`,
        [place.network, at],
      )
      const validator = who[draw(desk, who.length)]?.validator
      if (validator === undefined) return undefined
      const where = `where network = ? and ${day} = ? and validator = ?`
      const values = [place.network, at, validator]
      const [stored] = await facts.query(`select ${measures.join()} from ${table} ${where}`, values)
      const sums = measures.map((name) => `sum(${name}) as ${name}`).join()
      const [summed] = await facts.query(`select ${sums} from duty_hours ${where}`, values)
      const odd = measures.find((name) => String(stored?.[name]) !== String(summed?.[name]))
      const words = `${place.network} validator ${validator} ${day} ${at}`
      return odd && `${words}: ${odd} is ${stored?.[odd]}, its hours give ${summed?.[odd]}`
    }),
})

const quotePrices: Recheck = {
  name: 'quotes from the rates they name',
  todo: 'keep the quote and its receipt; the price was worked out wrongly or the row was changed',
  run: (desk, count) =>
    sampled(count, async () => {
      const next = (from: string) =>
        desk.state.get<{ id: string; priced_from: string; reply: Uint8Array }>(
          'select id, priced_from, reply from fx_quotes where id >= ? order by id limit 1',
          from,
        )
      const row = await fromKey(next, desk.random.uuid())
      if (!row) return 'none'
      const receipt = JSON.parse(row.priced_from) as Partial<Receipt>
      if (receipt.version !== '1') return undefined
      const checks = checkReceipt(await signedReceipt(desk, receipt as Receipt), { reply: row.reply })
      const wrong = checks.filter(({ ok }) => !ok)
      return wrong.length === 0 ? undefined : `quote ${row.id}: ${wrong.map(({ says }) => says).join('; ')}`
    }),
}

const fundings: Recheck = {
  name: 'first fundings from a node',
  todo: 'ask a second node; if it agrees with the first, delete the row and read the blocks again (tetrad repair)',
  async run(desk, count) {
    const nodes = desk.settings.explorer.chains.flatMap(({ id }) => nodeOf(desk, id) ?? [])
    if (nodes.length === 0) return { checked: 0, differing: [], unable: 'no chain has a node' }
    let unable: string | undefined
    const result = await sampled(count, async () => {
      const node = nodes[draw(desk, nodes.length)]
      const stored = node && (await anyFunding(desk, node.chain.id))
      if (!node || !stored) return 'none'
      try {
        return await fundingWords(desk, node, stored)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        unable = error.message
        return 'none'
      }
    })
    return { ...result, ...(unable !== undefined && { unable }) }
  },
}

/** The transfer is in its block; and a search finds none before it. (Of a deleted contract a search finds nothing, decision 0017.) */
async function fundingWords(desk: Desk, node: ChainNode, stored: Funding): Promise<string | undefined> {
  const { traces } = await node.capabilities()
  if (!traces) throw new Fault('explorer.no_traces')
  const words = `chain ${node.chain.id} ${stored.address}: stored ${stored.tx} in block ${stored.block}`
  const untilMs = desk.clock.monotonicMs() + probeMs
  const [seen] = await readBlocks(node.rpc, traces, [stored.block], { untilMs })
  const there = seen && fundingsOf(node.chain.id, transfersOf(seen)).find(({ address }) => address === stored.address)
  const isSame = there?.tx === stored.tx && there.valueWei === stored.valueWei && there.funder === stored.funder
  if (!isSame)
    return `${words}, the node shows ${there ? `${there.tx} with ${there.valueWei} wei` : 'no such transfer'}`
  if (!node.chain.archive) return undefined
  const { funding } = await walk(node, stored.address, { ...desk.settings.explorer.probe, untilMs })
  return funding && isBefore(funding, stored)
    ? `${words}, the node shows ${funding.tx} in block ${funding.block}`
    : undefined
}

/** The next address after a random one: the table is ordered by it. */
async function anyFunding({ state, random }: Desk, chain: string) {
  const columns = 'address, block, tx_index, position, time_unix, funder, tx, value_wei'
  const next = (from: Uint8Array) =>
    state.get<StoredFunding & { address: Uint8Array }>(
      `select ${columns} from fundings where chain = ? and address >= ? order by address limit 1`,
      ...[chain, from],
    )
  const row = (await next(random.bytes(20))) ?? (await next(new Uint8Array(20)))
  return row && toFunding(chain, hexOf(row.address), row)
}

const registry: Recheck = {
  name: 'validators’ public keys from a beacon node',
  todo: 'the node is on another chain, or the registry was filled from one; correct validators.networks',
  async run(desk, count) {
    const followed = networks.filter((network) => desk.settings.validators.networks[network].beacon.urls.length > 0)
    if (followed.length === 0) return { checked: 0, differing: [], unable: 'no network has a beacon node' }
    let unable: string | undefined
    const result = await sampled(count, async () => {
      const network = followed[draw(desk, followed.length)] as Network
      const last = await desk.state.get<{ last: number | null }>(
        'select max(validator_index) as last from validators where network = ?',
        network,
      )
      const row = await desk.state.get<{ validator_index: number }>(
        `select validator_index from validators where network = ? and validator_index >= ?
         order by validator_index limit 1`,
        ...[network, draw(desk, (last?.last ?? 0) + 1)],
      )
      const entry = row && (await readValidator(desk.state, network, row.validator_index))
      if (!row || !entry) return 'none'
      const { urls, timeoutMs } = desk.settings.validators.networks[network].beacon
      try {
        const path = `/eth/v1/beacon/states/finalized/validators/${row.validator_index}`
        const pubkey = await openBeacon({ network, urls, timeoutMs, clock: desk.clock }).ask({ path }, (reply) =>
          reply.is === 'json' ? pubkeyOf(dataOf(reply.body)) : undefined,
        )
        const isSame = pubkey?.toLowerCase() === entry.pubkey.toLowerCase()
        return isSame
          ? undefined
          : `${network} validator ${row.validator_index}: stored ${entry.pubkey}, the node shows ${pubkey}`
      } catch (error) {
        unable = error instanceof Error ? error.message : String(error)
        return 'none'
      }
    })
    return { ...result, ...(unable !== undefined && { unable }) }
  },
}

const pubkeyOf = (data: unknown): string | undefined => {
  const { validator } = (data ?? {}) as { validator?: { pubkey?: unknown } }
  return typeof validator?.pubkey === 'string' ? validator.pubkey : undefined
}

export const rechecks: readonly Recheck[] = [
  fundings,
  quotePrices,
  dutyDays('duty_days', 'day'),
  dutyDays('duty_utc_days', 'utc_day'),
  registry,
  marketDocuments,
]
