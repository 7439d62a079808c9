// Files of a chain process: states, compressed with zstd, and decoded public keys. A file is complete or absent.
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** The first bytes of a file in zstd. */
const zstdMagic = 0xfd2fb528

/** The SSZ of a state, whether it is compressed or not. */
export async function readStateFile(file: string): Promise<Uint8Array> {
  const content = await readFile(file)
  const isCompressed = content.length >= 4 && content.readUInt32LE(0) === zstdMagic
  return isCompressed ? await decompress(content) : content
}

/** Returns the size of the file. */
export async function writeStateFile(file: string, bytes: Uint8Array): Promise<number> {
  const content = await compress(bytes, fast)
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    {
      await using handle = await open(temporary, 'wx', 0o600)
      await handle.writeFile(content)
      await handle.sync()
    }
    await rename(temporary, file)
  } finally {
    await rm(temporary, { force: true })
  }
  return content.length
}

/** Returns the file. Its name has the hash of its content, because the library does not verify what it reads. */
export async function writeKeysFile(
  folder: string,
  save: (file: string) => void,
  count: number,
): Promise<{ readonly file: string; readonly count: number }> {
  const temporary = join(folder, `${randomUUID()}.tmp`)
  try {
    save(temporary)
    const file = join(folder, `${await hashOf(temporary)}-${count}.keys`)
    {
      await using handle = await open(temporary)
      await handle.sync()
    }
    await rename(temporary, file)
    return { file, count }
  } finally {
    await rm(temporary, { force: true })
  }
}

const keysName = /^([0-9a-f]{64})-(\d{1,10})\.keys$/

/** The number of keys in a file. Undefined: it is missing or damaged. */
export async function keysInFile(file: string): Promise<number | undefined> {
  const [, hash, count] = keysName.exec(basename(file)) ?? []
  const isIntact = hash !== undefined && (await hashOf(file).catch(() => undefined)) === hash
  return isIntact ? Number(count) : undefined
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
