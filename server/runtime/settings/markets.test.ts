import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as wire from '#api/contract/wire/markets.ts'
import { settingsWith } from '#test/context.ts'
import { readYaml } from '../config/yaml.ts'

const kindsOfTable = { market: wire.Market, event: wire.Event, series: wire.Series, all: wire.Event }

for (const [name, paging] of [
  ['markets-feed.yaml', ['offset']],
  ['polymarket-feed.yaml', ['keyset', 'keyset']],
] as const)
  test(`examples/${name} is valid, and renames to fields that exist`, () => {
    const text = readFileSync(new URL(`../../../examples/${name}`, import.meta.url), 'utf8')
    const { value, problems } = readYaml(text)
    assert.deepEqual(problems, [])
    const { feeds } = settingsWith(value as object).markets
    assert.deepEqual(
      feeds.map((feed) => feed.paging.kind),
      paging,
    )
    for (const { fields } of feeds)
      for (const [kind, table] of Object.entries(fields)) {
        const { properties } = kindsOfTable[kind as keyof typeof kindsOfTable]
        for (const field of Object.values(table)) assert.ok(field in properties, `${kind}.${field}`)
      }
  })
