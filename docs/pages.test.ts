// The pages for operators speak of things that exist: settings, commands, files, paths, alerts, decisions.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { faults } from '#api/faults.ts'
import { checkIds } from '#conformance/run-checks.ts'
import { complete } from '#core/schema-check.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { runCommand } from '#test/run-command.ts'

const here = import.meta.dirname
const pages = [
  'console.md',
  'getting-started.md',
  'operations.md',
  'security.md',
  'conformance.md',
  'scaling.md',
  'upgrading.md',
]
const read = (name: string) => readFile(join(here, name), 'utf8')

const sections = Object.keys(SettingsSchema.properties)
const settingWord = new RegExp(`\`((?:${sections.join('|')})(?:\\.[a-zA-Z]+)+)\``, 'g')

function hasSetting(path: readonly string[], node: unknown): boolean {
  const [name, ...rest] = path
  if (name === undefined) return true
  const member = (node as { properties?: Record<string, unknown> } | undefined)?.properties?.[name]
  return member !== undefined && hasSetting(rest, member)
}

for (const page of pages) {
  describe(page, () => {
    test('its settings exist, and its examples of a configuration are valid', async () => {
      const text = await read(page)
      for (const [, path = ''] of text.matchAll(settingWord)) {
        if (path in faults || checkIds.some((id) => id.startsWith(path))) continue
        assert.ok(hasSetting(path.split('.'), SettingsSchema), path)
      }
      for (const [, block = ''] of text.matchAll(/```yaml\n([\s\S]*?)```/g)) {
        assert.deepEqual(complete(SettingsSchema, parse(block)).problems, [], block)
      }
    })

    test('its links lead somewhere', async () => {
      for (const [, target = ''] of (await read(page)).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
        assert.ok(existsSync(normalize(join(here, dirname(page), target))), target)
      }
    })

    test('its commands exist', async () => {
      const text = await read(page)
      const named = [...text.matchAll(/(?:tetrad|tetrad\.js) ([a-z]+)((?: [a-z]+)?)/g)].map(
        ([, one = '', two = '']) => [one, two.trim()],
      )
      const tops = new Set(named.map(([one]) => one).filter((one) => one !== undefined && !notCommands.has(one)))
      for (const name of tops) {
        const { code, stderr } = await runCommand([name ?? '', '--help'], { cwd: here })
        assert.equal(code, 0, `tetrad ${name}: ${stderr}`)
      }
    })
  })
}

/** Words that follow the name in prose and file names. */
const notCommands = new Set(['config.yaml', 'yaml', 'node'])

test('operations.md names the alerts that page, all of them', async () => {
  const rules = parse(await readFile(join(here, '../ops/prometheus/tetrad.rules.yml'), 'utf8')) as {
    groups: { rules: { alert: string; labels: { severity: string } }[] }[]
  }
  const paging = rules.groups.flatMap((group) => group.rules).filter(({ labels }) => labels.severity === 'page')
  const text = await read('operations.md')
  const named = [...text.matchAll(/`(Tetrad[A-Z]\w+)`/g)].map(([, name]) => name)
  assert.deepEqual(named.toSorted(), paging.map(({ alert }) => alert).toSorted())
})

test('conformance.md has a row for every family of checks', async () => {
  const text = await read('conformance.md')
  for (const id of checkIds) {
    const [group = '', family = ''] = id.split('.')
    const isNamed = [`\`${group}\``, `\`${group}.${family}\``].some((word) => text.includes(word))
    assert.ok(isNamed || ['explorer.selectors', 'explorer.any-case-and-forms'].includes(id), id)
  }
})
