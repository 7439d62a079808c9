import assert from 'node:assert/strict'
import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { openFolder, runChild } from '#test/run-command.ts'

/** A project with this prepare script, and programs in the places of the launcher and of vite. */
async function openProject(programs: { readonly launcher: string; readonly vite?: string }) {
  const home = await openFolder()
  const file = join(home.dir, 'cli/prepare.js')
  const { launcher, vite } = programs
  const files = {
    'package.json': '{"type":"module"}',
    'cli/tetrad.js': launcher,
    ...(vite && { 'node_modules/vite/bin/vite.js': vite }),
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(home.dir, name)), { recursive: true })
    await writeFile(join(home.dir, name), text)
  }
  await copyFile(join(import.meta.dirname, 'prepare.js'), file)
  const run = () =>
    runChild([], { cwd: home.dir, node: process.execPath, file, env: { TETRAD_SERVER_PORT: '1', OTHER: '2' } })
  return { ...home, run }
}

test('builds the pages, and starts a demo without the configuration of the project until it is ready', async () => {
  const launcher = `import { writeFileSync } from 'node:fs'
    const { TETRAD_SERVER_PORT: port, OTHER: other } = process.env
    const seen = { args: process.argv.slice(2), cwd: process.cwd(), port, other }
    process.on('SIGTERM', () => {
      writeFileSync(new URL('../seen.json', import.meta.url), JSON.stringify(seen))
      process.exit()
    })
    console.log('Tetrad listens on http://127.0.0.1:1')
    setInterval(() => {}, 1000)`
  const vite = `import { writeFileSync } from 'node:fs'
    writeFileSync('built.json', JSON.stringify(process.argv.slice(2)))`
  await using project = await openProject({ launcher, vite })
  assert.deepEqual(await project.run(), { code: 0, stdout: '', stderr: '' })
  assert.deepEqual(JSON.parse(await readFile(join(project.dir, 'built.json'), 'utf8')), ['build', 'console'])
  const { args, cwd, ...env } = JSON.parse(await readFile(join(project.dir, 'seen.json'), 'utf8'))
  assert.deepEqual(args, ['serve', '--data', join(cwd, 'data'), '--port', '0'])
  assert.deepEqual(env, { other: '2' })
  await assert.rejects(stat(cwd), { code: 'ENOENT' })
})

test('the installation succeeds without vite and with a server that does not start', async () => {
  await using project = await openProject({ launcher: 'process.exit(1)' })
  assert.deepEqual(await project.run(), { code: 0, stdout: '', stderr: '' })
})
