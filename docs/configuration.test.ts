import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonSchema } from '#api/contract/schema.ts'
import { checker } from '#core/schema-check.ts'
import { leaves, settingsNode } from '#runtime/config/leaves.ts'
import { readYaml } from '#runtime/config/yaml.ts'
import { loadConfig } from '#runtime/config.ts'
import { configurationPage, configurationSchema } from './configuration.ts'

const root = join(import.meta.dirname, '..')
const stale = 'is out of date; run: npm run docs'

test('the page is up to date and contains every setting with its variable', async () => {
  const page = await readFile(join(root, 'docs/configuration.md'), 'utf8')
  assert.equal(page, configurationPage(), `docs/configuration.md ${stale}`)
  for (const { path, variable } of leaves) {
    assert.ok(page.includes(`| \`${path.join('.')}\` |`), path.join('.'))
    assert.ok(page.includes(`\`${variable}\` |`), variable)
  }
})

test('every setting has a description', () => {
  const walk = (node: JsonSchema, name: string): void => {
    const members = Object.entries(node.properties ?? {})
    for (const [member, inner] of members) walk(inner, `${name}.${member}`)
    if (members.length === 0) assert.ok(node.description, `${name} has no description`)
    if (node.items?.properties) walk(node.items, `${name}[]`)
  }
  walk(settingsNode, '')
})

test('the schema for editors is up to date', async () => {
  const text = await readFile(join(root, 'docs/tetrad.schema.json'), 'utf8')
  assert.deepEqual(JSON.parse(text), configurationSchema(), `docs/tetrad.schema.json ${stale}`)
})

test('in the schema, settings with a default are optional and unknown names are refused', () => {
  const check = checker(configurationSchema() as never)
  assert.deepEqual(check({}), [])
  assert.deepEqual(check({ server: { port: 1 } }), [])
  assert.deepEqual(check({ sevrer: {} }), [{ at: ['sevrer'], message: 'is not a known name' }])
  assert.deepEqual(check({ explorer: { chains: [{ id: '1' }] } }), [
    { at: ['explorer', 'chains', '0', 'name'], message: 'is required' },
  ])
})

test('the example is valid for the server and for editors', async () => {
  const config = await loadConfig({ file: 'tetrad.example.yaml', folder: root, env: {}, flags: [] })
  assert.equal(config.settings.fx.terms.instant.spreadBps, '4.5')
  const text = await readFile(join(root, 'tetrad.example.yaml'), 'utf8')
  const check = checker(configurationSchema() as never)
  assert.deepEqual(check(readYaml(text).value), [])
  // With the commented settings too: a comment that ends a line, or that is a sentence, is not a setting.
  const complete = text.replace("'0x…'", "''").replaceAll(/^( *)# ( *(- )?[a-z]\w*:)/gm, '$1$2')
  assert.ok(complete.includes('\nstore:\n'))
  assert.deepEqual(check(readYaml(complete).value), [])
})
