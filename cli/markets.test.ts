// Tests the markets commands as a script calls them.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { launcher, openFolder, runCommand } from '#test/run-command.ts'
import { startFaultyFeed } from '#test/simulator/faulty-feed.ts'
import { LiveMarkets } from '#test/simulator/live-markets.ts'

const records = [
  { id: '1', slug: 'one', url_name: 'x', tags: [{ id: '7', label: 'Seven' }] },
  { slug: 'two', closed: true },
  { id: '3', slug: 'three' },
]

const json = async (args: readonly string[], cwd: string, code = 0) => {
  const result = await runCommand([...args, '--json'], { cwd })
  assert.equal(result.code, code, result.stderr)
  return JSON.parse(result.stdout)
}

describe('tetrad import markets', () => {
  test('a gzipped list is imported, rejects go to a file, and importing it again changes nothing', async () => {
    await using folder = await openFolder()
    await writeFile(join(folder.dir, 'm.json.gz'), gzipSync(JSON.stringify(records)))
    const first = await json(['import', 'markets', 'm.json.gz'], folder.dir, 3)
    assert.deepEqual([first.read, first.changed, first.rejected, first.rejects], [3, 3, 1, 'markets.rejects.ndjson'])
    const line = JSON.parse(await readFile(join(folder.dir, first.rejects), 'utf8'))
    assert.deepEqual(line, {
      ...{ location: 'm.json.gz:1', kind: 'market', id: '' },
      problems: [{ field: 'id', reason: 'is required' }],
    })
    const again = await json(['import', 'markets', 'm.json.gz'], folder.dir, 3)
    assert.equal(again.changed, 0)
    const exported = await runCommand(['export', 'markets', '--format', 'ndjson'], { cwd: folder.dir })
    const rows = exported.stdout
      .trim()
      .split('\n')
      .map((row) => JSON.parse(row))
    assert.deepEqual(
      rows.map(({ id, slug }) => [id, slug]),
      [
        ['1', 'one'],
        ['3', 'three'],
      ],
    )
    const [drift] = await json(['markets', 'drift'], folder.dir)
    assert.deepEqual([drift.source, drift.kind, drift.field, drift.records], ['import', 'market', 'url_name', 1])
    assert.match(drift.firstSeen, /^\d{4}-/)
  })

  test('three versions of one market in a file are three versions', async () => {
    await using folder = await openFolder()
    const versions = [0.1, 0.2, 0.3].map((bestBid) => ({ id: '1', slug: 'one', bestBid }))
    await writeFile(join(folder.dir, 'm.json'), JSON.stringify(versions))
    const { code, stdout, stderr } = await runCommand(['import', 'markets', 'm.json'], { cwd: folder.dir })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^3 records read in .*: 3 new versions, 0 older than stored, 0 rejected$/m)
  })

  test('standard input is read line by line with the rename table of a feed', async () => {
    await using folder = await openFolder()
    const feed = { id: 'main', url: 'http://127.0.0.1:9/', fields: { market: { url_name: 'slug', slug: 'ticker' } } }
    await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify({ markets: { feeds: [feed] } }))
    const child = spawn(process.execPath, [launcher, 'import', 'markets', '-', '--feed', 'main', '--json'], {
      cwd: folder.dir,
    })
    let output = ''
    child.stdout.on('data', (part) => {
      output += part
    })
    child.stdin.end(
      records.map((record) => `${JSON.stringify({ ...record, slug: undefined, url_name: record.slug })}\n`).join(''),
    )
    const code = await new Promise((resolve) => child.on('close', resolve))
    assert.equal(code, 3)
    assert.deepEqual([JSON.parse(output).read, JSON.parse(output).changed], [3, 3])
    assert.deepEqual(await json(['markets', 'drift'], folder.dir), [])
  })

  test('errors name the cause: missing file, damaged gzip, unknown feed', async () => {
    await using folder = await openFolder()
    const cwd = folder.dir
    await writeFile(join(cwd, 'cut.gz'), gzipSync(JSON.stringify(records)).subarray(0, 60))
    await writeFile(join(cwd, 'm.json'), JSON.stringify(records))
    for (const [args, expected] of [
      [['nowhere.json'], /There is no file nowhere.json/],
      [['cut.gz'], /Cannot decompress cut.gz/],
      [['m.json', '--feed', 'main'], /No feed is configured/],
    ] as const) {
      const result = await runCommand(['import', 'markets', ...args], { cwd })
      assert.equal(result.code, 1)
      assert.match(result.stderr, expected)
      assert.doesNotMatch(result.stderr, /defect|\.ts:\d+/)
    }
  })
})

describe('tetrad ingest markets', () => {
  test('a configured feed is read, and its drift and rejects are listed', async () => {
    await using folder = await openFolder()
    const world = new LiveMarkets('cli', () => Date.now(), { markets: 7, events: 2 })
    await using feed = await startFaultyFeed({ seed: 'cli', listing: world })
    feed.setFaults({ unknown: 0.4, nameless: 0.8 })
    const paging = { kind: 'offset', size: 3, overlap: 1 }
    const source = { id: 'main', url: feed.url, perSecond: 1000, vanishAfter: 1, paging }
    await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify({ markets: { feeds: [source] } }))
    const first = await json(['ingest', 'markets'], folder.dir)
    assert.deepEqual([first.main.pass, first.main.pages], ['full', 4])
    assert.ok((await json(['markets', 'drift'], folder.dir)).length > 0)
    const rejects = await json(['markets', 'rejects'], folder.dir)
    assert.match(rejects[0]?.location, /^http:\/\/127\.0\.0\.1:\d+\/… page \d record \d$/)
    feed.setFaults({})
    await json(['ingest', 'markets', '--full'], folder.dir)
    // Delist a market that has been read before.
    while (![...world.delisted].some((id) => Number(id) <= 7)) world.step()
    const last = await json(['ingest', 'markets', '--full'], folder.dir)
    assert.ok(last.main.vanished > 0)
  })

  test('without a configured feed, the command fails and names the setting', async () => {
    await using folder = await openFolder()
    const result = await runCommand(['ingest', 'markets'], { cwd: folder.dir })
    assert.equal(result.code, 1)
    assert.match(result.stderr, /No feed is configured \(markets\.feeds\)/)
  })
})
