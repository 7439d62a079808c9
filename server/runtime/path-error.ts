// Turns file system errors into messages that tell an operator what to do.

const messages: Readonly<Record<string, string>> = {
  ENOSPC: 'cannot be written because the disk is full; free space, or choose another path',
  EDQUOT: 'cannot be written because the disk quota is used up; free space, or choose another path',
  EROFS: 'cannot be written because the disk is mounted read-only; choose another path',
  EACCES: 'cannot be used: permission denied; check its owner and permissions, and those of its folder',
  EPERM: 'cannot be used: permission denied; check its owner and permissions, and those of its folder',
}

export class PathError extends Error {
  readonly code: string

  constructor(code: string, path: string, cause?: unknown) {
    super(`${path} ${messages[code]}`, { cause })
    this.name = 'PathError'
    this.code = code
  }
}

const isPathCode = (code: unknown): code is string => typeof code === 'string' && code in messages

/** `path` is used if the error does not name one. Other errors are returned unchanged. */
export function renamePath(error: unknown, path?: string): unknown {
  if (!(error instanceof Error) || error instanceof PathError || !('code' in error)) return error
  const { code, dest, path: named } = error as NodeJS.ErrnoException & { dest?: string }
  const shownPath = path ?? dest ?? named
  return isPathCode(code) && shownPath !== undefined ? new PathError(code, shownPath, error) : error
}
