// Files of a chain process: states, compressed with zstd, and decoded public keys. A file is complete or absent. Before
// the compressed state is a frame that programs for zstd skip: the hash and the number of the decoded keys of its
// validators, which are a file in the same folder. It saves time only.
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** The first bytes of a file in zstd. */
const zstdMagic = 0xfd2fb528
/** The first bytes of a frame that is skipped. After them is its length. */
const skippedMagic = 0x184d2a50
const hashSize = 32
const keysFrameSize = 8 + hashSize + 4

/** The decoded keys of the first validators of a network. */
export interface KeysFile {
  readonly file: string
  readonly count: number
}

/** The SSZ of a state, whether it is compressed or not. */
export async function readStateFile(file: string): Promise<Uint8Array> {
  const content = await readFile(file)
  const start = parseKeysFrame(content) ? keysFrameSize : 0
  const isCompressed = content.length >= start + 4 && content.readUInt32LE(start) === zstdMagic
  return isCompressed ? await decompress(content.subarray(start)) : content
}

/** Returns the size of the file. `keys`: in the same folder. */
export async function writeStateFile(file: string, bytes: Uint8Array, keys: KeysFile | undefined): Promise<number> {
  const state = await compress(bytes, fast)
  const content = keys ? Buffer.concat([keysFrame(keys), state]) : state
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

function keysFrame({ file, count }: KeysFile): Buffer {
  const [, hash = ''] = keysName.exec(basename(file)) ?? []
  const frame = Buffer.alloc(keysFrameSize)
  frame.writeUInt32LE(skippedMagic, 0)
  frame.writeUInt32LE(hashSize + 4, 4)
  frame.write(hash, 8, 'hex')
  frame.writeUInt32LE(count, 8 + hashSize)
  return frame
}

function parseKeysFrame(content: Buffer): { readonly hash: string; readonly count: number } | undefined {
  const isThere =
    content.length >= keysFrameSize &&
    content.readUInt32LE(0) === skippedMagic &&
    content.readUInt32LE(4) === hashSize + 4
  if (!isThere) return undefined
  return { hash: content.toString('hex', 8, 8 + hashSize), count: content.readUInt32LE(8 + hashSize) }
}

/** The keys that a file of a state names, whether that file is there or not. */
export async function keysOfState(file: string): Promise<KeysFile | undefined> {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(keysFrameSize), 0, keysFrameSize, 0)
  const found = parseKeysFrame(buffer.subarray(0, bytesRead))
  return found && { file: join(dirname(file), `${found.hash}-${found.count}.keys`), count: found.count }
}

const keysName = /^([0-9a-f]{64})-(\d{1,10})\.keys$/

/** The file in a folder with the most keys. */
export async function findKeysFile(folder: string): Promise<KeysFile | undefined> {
  const found = (await readdir(folder)).flatMap((name): KeysFile[] => {
    const count = keysName.exec(name)?.[2]
    return count === undefined ? [] : [{ file: join(folder, name), count: Number(count) }]
  })
  return found.sort((a, b) => b.count - a.count)[0]
}

export async function writeKeysFile(folder: string, save: (file: string) => void, count: number): Promise<KeysFile> {
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

/** Whether it is there and has its hash, because the library does not verify what it reads. A damaged file is deleted. */
export async function isIntactKeysFile({ file }: KeysFile): Promise<boolean> {
  const [, expected] = keysName.exec(basename(file)) ?? []
  const hash = await hashOf(file).catch(() => undefined)
  if (hash !== undefined && hash !== expected) await rm(file, { force: true })
  return hash !== undefined && hash === expected
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
