// Two processes read two feeds that share events into one PostgreSQL. They are killed before or after commits and merges,
// and started again. The history must be complete and in order, and the documents those of an uninterrupted run.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import { currentRecords } from '#markets/read/current-records.ts'
import { readHistoryHead } from '#markets/read/versions.ts'
import { type NamedVersion, readVersionsAfter } from '#markets/read/versions-after.ts'
import { parseDiff } from '#markets/records/diff-records.ts'
import type { KindName } from '#markets/records/kinds.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openIngest } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { readAndMerge } from './killed-feeds.ts'
import { seedsOf } from './long.ts'
import { listDocuments } from './market-documents.ts'
import { noPostgres, startPostgres } from './postgres.ts'
import { serveScript } from './scripted-server.ts'

const marketCount = 120
const rounds = 4
const childFile = `${import.meta.dirname}/killed-feeds.ts`

/** The markets of a feed with their events, which both feeds have. */
const recordsOf = (feed: number, round: number) =>
  Array.from({ length: marketCount / 2 }, (_, index) => {
    const at = 2 * index + feed
    const event = Math.floor(at / 10)
    const isTextChanged = (at + round) % 7 === 0
    return {
      ...{ id: String(at), slug: `m-${at}`, question: isTextChanged ? `Open ${round}?` : 'Open?', active: true },
      ...{ bestBid: ((at + round) % 99) / 100, volumeNum: at + round / 8, outcomePrices: `["${round % 9}"]` },
      events: [{ id: `e${event}`, slug: `event-${event}`, title: 'Event', volume: event + round * 1.5 }],
    }
  })

/** Whether it was killed. */
async function readInChild(location: string, settings: object, killAt: number): Promise<boolean> {
  const child = spawn(process.execPath, [childFile, location, JSON.stringify(settings), String(killAt)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code, signal] = await once(child, 'exit')
  assert.ok(code === 0 || signal === 'SIGKILL', `${code} ${signal}`)
  return signal === 'SIGKILL'
}

async function readHistory(ingest: State): Promise<NamedVersion[]> {
  const { seq: head } = await readHistoryHead(ingest)
  const found: NamedVersion[] = []
  for (let after = 0; after < head; after = found.at(-1)?.seq ?? head) {
    const rows = await readVersionsAfter(ingest, { after, until: head }, 250, {}, 250)
    assert.ok(rows.length > 0, `nothing after ${after} of ${head}`)
    found.push(...rows)
  }
  return found
}

/** Each change of a field begins with the value that the one before has left; the last one has left the current value. */
async function assertChained(ingest: State, history: readonly NamedVersion[]): Promise<void> {
  const values = new Map<string, Map<string, string>>()
  for (const { kind, id, diff, seq } of history) {
    const fields = values.getOrInsertComputed(`${kind}/${id}`, () => new Map())
    for (const [field, [before, after]] of Object.entries(parseDiff(diff))) {
      const known = fields.get(field)
      if (known !== undefined) assert.equal(stringifyJson(before), known, `${kind} ${id} ${field} in version ${seq}`)
      fields.set(field, stringifyJson(after))
    }
  }
  const current = currentRecords(ingest)
  for (const [name, fields] of values) {
    const [kind = '', id = ''] = name.split('/')
    const record = await current.record(kind as KindName, id)
    for (const [field, text] of fields)
      assert.deepEqual(record?.fields[field] ?? record?.links[field] ?? null, parseJson(text), `${name} ${field}`)
  }
}

for (const seed of seedsOf(20, 1)) {
  test(`two servers are killed at commits and merges (seed ${seed})`, { skip: noPostgres }, async (t) => {
    const draws = createSeededRandom(`killed feeds ${seed}`)
    let round = 0
    let isLast = false
    await using source = await serveScript(({ url }) => {
      if (!isLast) round += 1
      return { body: recordsOf(Number(url.slice(1, 2)), isLast ? 1000 : round) }
    })
    const settingsOf = (...feeds: number[]) => ({
      markets: {
        feeds: feeds.map((feed) => ({
          ...{ id: `feed-${feed}`, url: `${source.url}/${feed}`, perSecond: 1000, fullEveryMs: 1000 },
          paging: { kind: 'none' },
        })),
      },
    })
    await using server = await startPostgres()
    const location = await server.schema()
    const points = await readAndMerge(location, settingsOf(0))
    assert.ok(points > 60, `${points} commit points`)
    let kills = 0
    for (let at = 0; at < rounds; at++) {
      const killed = await Promise.all(
        [0, 1].map((feed) => readInChild(location, settingsOf(feed), draws.whole(1, points))),
      )
      kills += killed.filter(Boolean).length
    }
    t.diagnostic(`${kills} kills, ${points} commit points`)
    assert.ok(kills >= rounds)
    isLast = true
    await readAndMerge(location, settingsOf(0, 1))
    const clean = await server.schema()
    await readAndMerge(clean, settingsOf(0, 1))
    const ingest = await openIngest(location, { state: location })
    const expected = await openIngest(clean, { state: clean })
    try {
      const history = await readHistory(ingest)
      assert.deepEqual(
        history.map(({ seq }) => seq),
        Array.from({ length: history.length }, (_, index) => index + 1),
      )
      assert.ok(history.every(({ atMs }, index) => atMs >= (history[index - 1]?.atMs ?? 0)))
      await assertChained(ingest, history)
      const packs = await ingest.get<{ n: number }>('select count(*) as n from market_packs')
      assert.ok((packs?.n ?? 0) > 2, `${packs?.n} packs`)
      const texts = async (state: State) => (await listDocuments(state)).map(({ id, text }) => ({ id, text }))
      assert.deepEqual(await texts(ingest), await texts(expected))
      assert.equal((await texts(ingest)).length, marketCount)
    } finally {
      await ingest.close()
      await expected.close()
    }
  })
}
