import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatReportJson, formatReportMarkdown } from './report.ts'
import { type ConformanceReport, runChecks } from './run-checks.ts'

const report: ConformanceReport = {
  startedAt: '2026-11-16T20:00:00.000Z',
  endedAt: '2026-11-16T20:00:15.000Z',
  conforms: false,
  passed: 1,
  failed: 1,
  skipped: 1,
  results: [
    { id: 'markets.record', rule: 'spec 4.8', requirement: 'it matches', outcome: 'passed', notes: [] },
    { id: 'markets.tags', rule: 'spec 4.8', requirement: 'it omits', outcome: 'failed', notes: ['a|b <script>\nc'] },
    { id: 'http.key.plan', rule: 'spec 5', requirement: 'it refuses', outcome: 'skipped', notes: ['no low key'] },
  ],
  calls: [{ endpoint: 'markets.bySlug', method: 'GET', path: '/markets/slug/{slug}', requests: 3 }],
}
const context = { version: '0.1.0', addresses: { all: 'https://data.example.net' }, options: ['--spec-only'] }

test('the page shows the run, failed checks first, all checks and the calls; parts of responses are escaped', () => {
  assert.equal(
    formatReportMarkdown(report, context),
    `# Conformance report

Does not conform: 1 passed, 1 failed, 1 skipped; 1 of them against the specification.

|  |  |
| --- | --- |
| Suite | tetrad conformance 0.1.0 |
| Started | 2026-11-16T20:00:00.000Z |
| Ended | 2026-11-16T20:00:15.000Z |
| URL (all) | https://data.example.net |
| Options | --spec-only |

## Failed checks

- \`markets.tags\` (spec 4.8): it omits
  - a\\|b &lt;script> c

## Checks

| check | result | rule | requirement |
| --- | --- | --- | --- |
| \`markets.record\` | passed | spec 4.8 | it matches |
| \`markets.tags\` | failed | spec 4.8 | it omits |
| \`http.key.plan\` | skipped: no low key | spec 5 | it refuses |

## Calls

| endpoint | request | number of requests |
| --- | --- | --- |
| \`markets.bySlug\` | \`GET /markets/slug/{slug}\` | 3 |

`,
  )
})

test('the JSON document has the report and its context', () => {
  const suite = { name: 'tetrad conformance', version: '0.1.0' }
  assert.deepEqual(JSON.parse(formatReportJson(report, context)), {
    ...{ suite, addresses: context.addresses, options: context.options },
    ...report,
  })
})

test('a run counts its requests and has no key, even if responses repeat it', async () => {
  const key = 'tetrad:id:secret'
  const sent: string[] = []
  const echo = (async (url: string | URL) => {
    sent.push(String(url))
    return new Response(String(url), { status: 500 })
  }) as typeof fetch
  const options = { baseUrl: 'http://127.0.0.1', key, only: ['explorer', 'markets.record'], samples: { slug: 'a' } }
  let nowMs = Date.parse('2026-11-16T20:00:00Z')
  const sleep = async (waitMs: number) => {
    nowMs += waitMs
  }
  const run = await runChecks(options, () => {}, { fetch: echo, sleep, now: () => nowMs })
  assert.equal(run.startedAt, '2026-11-16T20:00:00.000Z')
  assert.ok(run.endedAt > run.startedAt)
  assert.deepEqual(
    run.calls.find(({ endpoint }) => endpoint === 'markets.bySlug'),
    {
      endpoint: 'markets.bySlug',
      method: 'GET',
      path: '/markets/slug/{slug}',
      requests: sent.filter((url) => url.includes('/markets/slug/')).length,
    },
  )
  assert.ok(sent.some((url) => url.includes('secret')))
  const texts = [formatReportJson(run, context), formatReportMarkdown(run, context)]
  for (const text of texts) assert.ok(text.includes('[key]') && !text.includes('secret'))
})
