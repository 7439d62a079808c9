// Two servers read two feeds that share events into one PostgreSQL. They are killed before or after commits and merges,
// and started again, or PostgreSQL fails over to its standby. The history must be complete and in order, and the documents
// those of an uninterrupted run.
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
import { noPostgres, type PostgresServer, startPostgres } from './postgres.ts'
import { serveScript } from './scripted-server.ts'
import { waitUntil } from './wait-until.ts'

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

/** Both feeds. Each reply has the values of the next round, until `end`, from when on they are the last ones. */
async function serveFeeds() {
  let round = 0
  let isLast = false
  const source = await serveScript(({ url }) => {
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
  const end = () => {
    isLast = true
  }
  return { settingsOf, end, [Symbol.asyncDispose]: () => source[Symbol.asyncDispose]() }
}

type Feeds = Awaited<ReturnType<typeof serveFeeds>>

/** Reads both feeds once more, in the database and in an empty one. Returns the history. */
async function assertAsUninterrupted(
  { settingsOf, end }: Feeds,
  server: PostgresServer,
  location: string,
): Promise<NamedVersion[]> {
  end()
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
    return history
  } finally {
    await ingest.close()
    await expected.close()
  }
}

for (const seed of seedsOf(20, 1)) {
  test(`two servers are killed at commits and merges (seed ${seed})`, { skip: noPostgres }, async (t) => {
    const draws = createSeededRandom(`killed feeds ${seed}`)
    await using feeds = await serveFeeds()
    const { settingsOf } = feeds
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
    await assertAsUninterrupted(feeds, server, location)
  })
}

/** Follows the changes as a consumer with a cursor, until `isOver`. */
async function follow(location: string, isOver: () => boolean): Promise<NamedVersion[]> {
  const ingest = await openIngest(location, { state: location, stateWaitMs: 60_000 })
  const seen: NamedVersion[] = []
  try {
    await waitUntil(async () => {
      const wasOver = isOver()
      const after = seen.at(-1)?.seq ?? 0
      const { until, rows } = await ingest.snapshot(async (reader) => {
        const { seq } = await readHistoryHead(reader)
        return {
          until: seq,
          rows: seq === after ? [] : await readVersionsAfter(reader, { after, until: seq }, 250, {}, 250),
        }
      })
      seen.push(...rows)
      return wasOver && (seen.at(-1)?.seq ?? 0) === until
    })
    return seen
  } finally {
    await ingest.close()
  }
}

for (const seed of seedsOf(20, 1)) {
  test(`the database fails over while two servers read (seed ${seed})`, { skip: noPostgres }, async (t) => {
    const draws = createSeededRandom(`failover of feeds ${seed}`)
    await using feeds = await serveFeeds()
    await using primary = await startPostgres()
    await using standby = await primary.standby()
    // What is committed can be read on both.
    await primary.sql("alter system set synchronous_standby_names = '*'")
    await primary.sql("alter system set synchronous_commit = 'remote_apply'")
    await primary.sql('select pg_reload_conf()')
    const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join()
    const location = (await primary.schema()).replace(`127.0.0.1:${primary.port}`, hosts)
    let isOver = false
    const following = follow(location, () => isOver)
    const failAt = draws.whole(25, 60)
    let failing: Promise<void> | undefined
    // During a commit: the standby has it, but the writer gets no reply.
    const failOver = async () => {
      await standby.sql('select pg_wal_replay_pause()')
      const waiting = "select count(*) as n from pg_stat_activity where wait_event = 'SyncRep'"
      await waitUntil(async () => ((await primary.sql<{ n: number }>(waiting))?.n ?? 0) > 0)
      await primary.kill()
      await standby.promote()
    }
    const onPoint = (point: number) => {
      if (point === failAt) failing ??= failOver()
    }
    const points = await Promise.all(
      [0, 1].map((feed) => readAndMerge(location, feeds.settingsOf(feed), feed === 0 ? onPoint : undefined)),
    )
    await failing
    t.diagnostic(`failover at commit point ${failAt}, ${points} commit points`)
    assert.ok(failing && Math.min(...points) > failAt, `${points} commit points`)
    isOver = true
    const seen = await following
    const history = await assertAsUninterrupted(feeds, standby, location)
    assert.ok(seen.length > 0)
    assert.deepEqual(seen, history.slice(0, seen.length))
  })
}
