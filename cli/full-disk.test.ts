// Errors of commands that cannot write a file: which path, and what to do.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openDuties } from '#storage/open.ts'
import { launcher, openFolder, runCommand } from '#test/run-command.ts'
import { noTinyDisk, tinyDisk } from '#test/tiny-disk.ts'
import { writeOut } from './out-file.ts'

const fullMessage = 'cannot be written because the disk is full; free space, or choose another path.'

describe('a full disk', () => {
  let home: Awaited<ReturnType<typeof openFolder>>
  before(async () => {
    home = await openFolder()
    await writeFile(join(home.dir, 'tetrad.yaml'), '')
    await mkdir(join(home.dir, 'small'))
    const made = await runCommand(['keys', 'create', '--name', 'a', '--plan', 'free'], { cwd: home.dir })
    assert.equal(made.code, 0)
    // The state fits on the small disk, the duties do not.
    const duties = await openDuties(join(home.dir, 'data'))
    await duties.write((tx) => tx.run('insert into duty_days (id, data) values (1, ?)', new Uint8Array(2 ** 21)))
    await duties.close()
    assert.equal((await runCommand(['backup', 'good'], { cwd: home.dir })).code, 0)
  })
  after(() => home[Symbol.asyncDispose]())

  for (const command of ['backup small/copy', 'restore good --data small/data']) {
    test(`is reported with the path by: tetrad ${command}`, { skip: noTinyDisk }, () => {
      const [program = '', ...wrapper] = tinyDisk(join(home.dir, 'small'), 1)
      const args = [...wrapper, process.execPath, launcher, ...command.split(' ')]
      const { status, stderr } = spawnSync(program, args, { cwd: home.dir, encoding: 'utf8' })
      assert.match(stderr, /^tetrad: \S*small\/(copy|data\/restoring)\/duties\.sqlite cannot be written because/)
      assert.ok(stderr.endsWith(`${fullMessage}\n`), stderr)
      assert.equal(status, 1)
    })
  }

  const noDevice = process.platform === 'linux' ? false : 'no /dev/full here'
  test('is reported for standard output, as JSON with --json', { skip: noDevice }, () => {
    const toFull = (more: string) =>
      spawnSync('sh', ['-c', `"$0" "$@" ${more} > /dev/full`, process.execPath, launcher, 'keys', 'list'], {
        cwd: home.dir,
        encoding: 'utf8',
      })
    const plain = toFull('')
    assert.deepEqual([plain.status, plain.stderr], [1, `tetrad: standard output ${fullMessage}\n`])
    const json = toFull('--json')
    assert.equal(JSON.parse(json.stderr).error.code, 'path.unusable')
  })

  test('is reported by labels export with the file', { skip: noDevice }, async () => {
    const { code, stderr } = await runCommand(['labels', 'export', '--out', '/dev/full'], { cwd: home.dir })
    assert.deepEqual([code, stderr], [1, `tetrad: /dev/full ${fullMessage}\n`])
    assert.ok((await stat('/dev/full')).isCharacterDevice(), 'a device is not replaced')
  })
})

describe('an output file', () => {
  test('may be a pipe', async () => {
    await using home = await openFolder()
    const script = `import { writeOut } from '${new URL('./out-file.ts', import.meta.url).href}'; await writeOut('/dev/stdout', ['through ', 'it'])`
    const line = `"${process.execPath}" --input-type=module-typescript --eval "$SCRIPT" | cat`
    const { status, stdout, stderr } = spawnSync('sh', ['-c', line], {
      ...{ cwd: home.dir, encoding: 'utf8' },
      env: { ...process.env, SCRIPT: script },
    })
    assert.deepEqual([status, stdout], [0, 'through it'], stderr)
  })

  test('is complete or unchanged, and no temporary file remains', async () => {
    await using home = await openFolder()
    const path = join(home.dir, 'out.json')
    await writeOut(path, ['old'])
    await chmod(path, 0o640)
    async function* breaking() {
      yield 'half of '
      throw new Error('the store fails')
    }
    await assert.rejects(writeOut(path, breaking()), /the store fails/)
    assert.equal(await readFile(path, 'utf8'), 'old')
    await symlink(path, join(home.dir, 'link'))
    await writeOut(join(home.dir, 'link'), ['new ', 'words'])
    assert.deepEqual([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777], ['new words', 0o640])
    assert.deepEqual(await readdir(home.dir), ['link', 'out.json'])
  })

  test('in a missing folder is an error with the path', async () => {
    await using home = await openFolder()
    const path = join(home.dir, 'none', 'out.json')
    await assert.rejects(writeOut(path, ['x']), (error: Error) =>
      error.message.startsWith(`${path} cannot be written. Check the path`),
    )
  })
})
