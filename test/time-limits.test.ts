// Finds what is deleted or expires by time in the source, and compares it with the documentation
// (behaviour/operations.md#deletions-and-expiries).
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

/** Statements that delete rows by a column that contains a time, and deletions of what is older than a time. */
const deletion = /delete from [^`']*?\b(\w+_ms|\w+_us|day) <|\bcutoffMs\b/
/** A comparison of an age or of the end of something with a clock. */
const limit =
  /\.for(Deletions|Keys)\(\)|\b(expire\w*|\w*[uU]ntilMs|giveUpAtMs)\b.*\b(nowMs|now\(\))|\b(nowMs|now\(\)).*\b(expire\w*|\w*[uU]ntilMs)\b|\b(nowMs|now\(\)) - [\w.]+\)? [<>]|>= clock\.now\(\) -|abandonedAfterMs/
const comparison = /\.for(Deletions|Keys)\(\)|abandonedAfterMs| [<>]=? /

const code = (line: string): string => line.replace(/\/\/.*$|^\s*\/?\*.*/, '')
const hasLimit = (text: string): boolean =>
  deletion.test(text) ||
  text.split('\n').some((line) => limit.test(code(line)) && comparison.test(code(line)) && !line.includes('monotonic'))

const found = globSync('server/**/*.ts', { cwd: root })
  .filter((file) => !file.endsWith('.test.ts') && !file.includes('/schema/'))
  .filter((file) => hasLimit(readFileSync(join(root, file), 'utf8')))
  .sort()

const keys = ['API keys, and old secrets of rotated keys']
const freshness = ['freshness of rates, heads and feeds']
const waits = ['rate limits and waits']
const byEpoch = ['hours of duties, missed duties, rows of networks']

/** The first cells of rows of the table, by file. */
const documented: Readonly<Record<string, readonly string[]>> = {
  'server/admin/key-view.ts': keys,
  'server/admin/keys.ts': keys,
  'server/admin/sessions.ts': ['expired links and sessions of the console', 'links and sessions of the console'],
  'server/admin/trades.ts': ['trades'],
  'server/explorer/funding/chain-coverage.ts': freshness,
  'server/explorer/labels/import/staging.ts': ['staged label imports'],
  'server/explorer/labels/lists/signed-link.ts': ['download links of label lists'],
  'server/fx/endpoints/create-quote.ts': ['idempotency keys'],
  'server/fx/extensions/signature-check/diagnose-signature.ts': ['state of a quote (`expiresAt`, deadline)'],
  'server/fx/extensions/trades/create-trade.ts': ['acceptance of quotes'],
  'server/fx/extensions/trades/follow-trades.ts': ['trades'],
  'server/fx/extensions/trades/read-trades.ts': ['trades'],
  'server/fx/extensions/trades/trade-store.ts': ['trades', 'acceptance of quotes'],
  'server/fx/pricing/mid.ts': freshness,
  'server/fx/pricing/quotes.ts': ['idempotency keys'],
  'server/fx/rates/rate-store.ts': ['rates'],
  'server/fx/rates/source-health.ts': freshness,
  'server/http/deadline.ts': waits,
  'server/http/key-cache.ts': keys,
  'server/http/log-throttle.ts': waits,
  'server/http/usage-counter.ts': ['usage'],
  'server/markets/feeds/feed-lock.ts': ['lock of a feed'],
  'server/markets/read/feed-state.ts': freshness,
  'server/markets/write/rejects.ts': ['rejected market records'],
  'server/markets/write/version-writer.ts': ['market versions'],
  'server/operations/deep-check.ts': freshness,
  'server/operations/doctor.ts': keys,
  'server/operations/market-merges.ts': ['changes of all markets, as a list'],
  'server/operations/rate-advice.ts': freshness,
  'server/operations/retention.ts': ['quotes and receipts', 'trades', 'idempotency keys', 'market versions'],
  'server/sources/evm/call-quota.ts': waits,
  'server/storage/keys.ts': ['new expiries of keys'],
  'server/storage/postgres/commit-tables.ts': ['records of commits'],
  'server/storage/postgres/outage.ts': waits,
  'server/storage/postgres/replicas.ts': waits,
  'server/storage/usage.ts': ['usage'],
  'server/storage/write-health.ts': waits,
  'server/validators/duties/network-rows.ts': byEpoch,
  'server/validators/duties/past-changes.ts': byEpoch,
  'server/validators/extensions/alerts/examine-programmes.ts': ['alerts about old epochs'],
  'server/webhooks/send.ts': ['deliveries to webhooks'],
}

test('everything in the source that is deleted or expires by time is in the documentation', () => {
  assert.deepEqual(found, Object.keys(documented).sort(), 'name the row of the documentation for new files here')
})

test('the documentation lists nothing else', () => {
  const page = readFileSync(join(root, 'docs/behaviour/operations.md'), 'utf8')
  const [, section = ''] = page.split('### Deletions and expiries\n')
  const [table = ''] = section.slice(section.indexOf('| what |')).split('\n\n')
  const rows = table.split('\n').slice(2)
  assert.deepEqual(
    rows.map((row) => row.split(' | ')[0]?.slice(2)).sort(),
    [...new Set(Object.values(documented).flat())].sort(),
  )
})
