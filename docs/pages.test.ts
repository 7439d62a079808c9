// The pages for operators mention only existing settings, commands, files, alerts and checks.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { faults } from '#api/contract/faults.ts'
import { checkIds } from '#conformance/run-checks.ts'
import { complete } from '#core/schema-check.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { runCommand } from '#test/run-command.ts'

const docsDir = import.meta.dirname
const pages = [
  'agents.md',
  'alerts.md',
  'beacon-nodes.md',
  'console.md',
  'export.md',
  'getting-started.md',
  'install.md',
  'mirror.md',
  'operations.md',
  'production.md',
  'security.md',
  'conformance.md',
  'scaling.md',
  'try.md',
  'upgrading.md',
]
const read = (name: string) => readFile(join(docsDir, name), 'utf8')

const sections = Object.keys(SettingsSchema.properties)
const settingPattern = new RegExp(`\`((?:${sections.join('|')})(?:\\.[a-zA-Z]+)+)\``, 'g')

function hasSetting(path: readonly string[], node: unknown): boolean {
  const [name, ...rest] = path
  if (name === undefined) return true
  const member = (node as { properties?: Record<string, unknown> } | undefined)?.properties?.[name]
  return member !== undefined && hasSetting(rest, member)
}

for (const page of pages) {
  describe(page, () => {
    test('its settings exist, and its configuration examples are valid', async () => {
      const text = await read(page)
      for (const [, path = ''] of text.matchAll(settingPattern)) {
        if (path in faults || checkIds.some((id) => id.startsWith(path))) continue
        assert.ok(hasSetting(path.split('.'), SettingsSchema), path)
      }
      for (const [, block = ''] of text.matchAll(/```yaml\n([\s\S]*?)```/g)) {
        assert.deepEqual(complete(SettingsSchema, parse(block)).problems, [], block)
      }
    })

    test('its links lead to existing files', async () => {
      for (const [, target = ''] of (await read(page)).matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)) {
        assert.ok(existsSync(normalize(join(docsDir, dirname(page), target))), target)
      }
    })

    test('its commands exist', async () => {
      const text = await read(page)
      const commands = new Set([...text.matchAll(/(?:tetrad|tetrad\.js) ([a-z]+)/g)].map(([, name = '']) => name))
      for (const name of commands.difference(notCommands)) {
        // The help of an unknown command is the general one.
        const { stdout } = await runCommand([name, '--help'], { cwd: docsDir })
        assert.ok(stdout.startsWith(`Usage: tetrad ${name} `), `tetrad ${name}`)
      }
    })
  })
}

/** Other words after the name, in prose and file names. */
const notCommands = new Set(['config.yaml', 'yaml', 'node', 'must', 'encoding', 'tetrad'])

test('operations.md lists all alerts with severity page', async () => {
  const rules = parse(await readFile(join(docsDir, '../ops/prometheus/tetrad.rules.yml'), 'utf8')) as {
    groups: { rules: { alert: string; labels: { severity: string } }[] }[]
  }
  const paging = rules.groups.flatMap((group) => group.rules).filter(({ labels }) => labels.severity === 'page')
  const text = await read('operations.md')
  const named = [...text.matchAll(/`(Tetrad[A-Z]\w+)`/g)].map(([, name]) => name)
  assert.deepEqual(named.toSorted(), paging.map(({ alert }) => alert).toSorted())
})

test('conformance.md has a row for every kind of check', async () => {
  const text = await read('conformance.md')
  for (const id of checkIds) {
    const [group = '', family = ''] = id.split('.')
    const isListed = [`\`${group}\``, `\`${group}.${family}\``].some((name) => text.includes(name))
    assert.ok(isListed || ['explorer.selectors', 'explorer.any-case-and-forms'].includes(id), id)
  }
})
