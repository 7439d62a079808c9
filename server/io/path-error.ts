// What the system says about a file or folder that cannot be used, in words an operator can act on.

const kinds: Readonly<Record<string, string>> = {
  ENOSPC: 'cannot be written because the disk is full; free some space there, or name another place',
  EDQUOT: 'cannot be written because this user may store no more there; free some space, or name another place',
  EROFS: 'cannot be written because the disk is mounted read-only; name another place',
  EACCES: 'may not be used by this user; check the owner and the permissions of it and of its folder',
  EPERM: 'may not be used by this user; check the owner and the permissions of it and of its folder',
}

export class PathError extends Error {
  readonly code: string

  constructor(code: string, path: string, cause?: unknown) {
    super(`${path} ${kinds[code]}`, { cause })
    this.name = 'PathError'
    this.code = code
  }
}

export const isPathCode = (code: unknown): code is string => typeof code === 'string' && code in kinds

/** `path`: what was written; the system does not always say. Anything that is not about a path goes through unchanged. */
export function renamePath(error: unknown, path?: string): unknown {
  if (!(error instanceof Error) || error instanceof PathError || !('code' in error)) return error
  const { code, dest, path: told } = error as NodeJS.ErrnoException & { dest?: string }
  const place = path ?? dest ?? told
  return isPathCode(code) && place !== undefined ? new PathError(code, place, error) : error
}
