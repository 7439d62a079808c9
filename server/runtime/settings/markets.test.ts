import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as wire from '#api/contract/wire/markets.ts'
import { settingsWith } from '#test/context.ts'
import { readYaml } from '../config/yaml.ts'

test('examples/markets-feed.yaml is valid, and renames to fields that exist', () => {
  const text = readFileSync(new URL('../../../examples/markets-feed.yaml', import.meta.url), 'utf8')
  const settings = settingsWith(readYaml(text).value as object)
  const [feed] = settings.markets.feeds
  assert.equal(feed?.paging.kind, 'offset')
  const known = { market: wire.Market, event: wire.Event, series: wire.Series, all: wire.Event }
  for (const [kind, table] of Object.entries(feed?.fields ?? {})) {
    const { properties } = known[kind as keyof typeof known]
    for (const name of Object.values(table)) assert.ok(name in properties, `${kind}.${name}`)
  }
})
