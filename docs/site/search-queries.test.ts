// What people search for, also with typing errors, and the page that must be the first result.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSearch } from '../../console/shared/text-search.ts'
import { renderSite } from './pages.ts'

const queries = [
  ['confguration', 'configuration.html'],
  ['effectivness', 'endpoints/validators.effectiveness.html'],
  ['cors', 'behaviour/http.html'],
  ['install', 'install.html'],
  ['reverse proxy nginx', 'operations.html'],
  ['rated python', 'clients/rated-python.html'],
  ['docker', 'operations.html'],
  ['systemd', 'operations.html'],
  ['postgres', 'scaling.html'],
  ['redis', 'behaviour/operations.html'],
  ['backup', 'operations.html'],
  ['restore a backup', 'operations.html'],
  ['rotate a key', 'commands.html'],
  ['rate limits', 'behaviour/http.html'],
  ['upgrade', 'upgrading.html'],
  ['prometheus', 'operations.html'],
  ['grafana dashboard', 'operations.html'],
  ['webhook alerts', 'alerts.html'],
  ['validator slashed', 'alerts.html'],
  ['beacon node', 'beacon-nodes.html'],
  ['lighthouse', 'beacon-nodes.html'],
  ['archve node', 'explorer.html'],
  ['labels import csv', 'labels.html'],
  ['funding trail', 'trail.html'],
  ['quote signature', 'fx.html'],
  ['permit2', 'fx.html'],
  ['exchange rates source', 'fx.html'],
  ['polymarket', 'clients/polymarket-client.html'],
  ['etherscan', 'clients/etherscan-api.html'],
  ['mcp', 'configuration.html'],
  ['claude', 'agents.html'],
  ['parquet export', 'export.html'],
  ['clickhouse', 'mirror.html'],
  ['typescript client', 'client.html'],
  ['conformnce', 'conformance.html'],
  ['openapi', 'clients/openapi-fetch.html'],
  ['securty', 'security.html'],
  ['shell completion', 'install.html'],
  ['tetrad doctor', 'commands.html'],
  ['upgradng', 'upgrading.html'],
  ['errros', 'errors.html'],
  ['methodolgy', 'methodology.html'],
  ['too many requests', 'errors.html'],
  ['missing', 'errors.html'],
  ['telegram', 'alerts.html'],
  ['discord', 'alerts.html'],
  ['unauthorized', 'errors.html'],
  ['forbidden', 'errors.html'],
] as const

const search = createSearch(renderSite({ isServed: true }).searchIndex)

for (const [query, page] of queries) {
  test(`"${query}" finds ${page} first`, () => {
    const results = search(query).map(({ path, anchor }) => `${path}#${anchor}`)
    assert.equal(results[0]?.split('#', 1)[0], page, results.join('\n'))
  })
}
