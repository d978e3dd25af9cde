import { constants, deflateRawSync, gzipSync } from "node:zlib";
import { tarHeader } from "../../support/registry/tar.ts";

// Small archives that unpack to gigabytes of zeros, which compress to a thousandth. Both formats may repeat a block.
const BLOCK_BYTES = 16 * 1024 * 1024;
const ZIP_BLOCKS = 128;

// 2 GiB in 2 MiB.
export function gzipBomb(blocks = 128): Buffer {
  const block = gzipSync(Buffer.alloc(BLOCK_BYTES));
  return Buffer.concat(Array.from({ length: blocks }, () => block));
}

// One file of 8 GiB, the maximum of plain tar. The data ends after 64 MiB, because tar keeps reading after the disk is full,
// which is not what we test.
export function tarBomb(): Buffer {
  const header = tarHeader({ path: "bomb.bin", sizeBytes: 8 ** 11 - 1, uid: 1000, gid: 1000 });
  return Buffer.concat([gzipSync(header), gzipBomb(4)]);
}

// One file of 2 GiB in 2 MiB. Its checksum is wrong, which a program notices only at the end of the data.
export function zipBomb(): Buffer {
  const block = deflateRawSync(Buffer.alloc(BLOCK_BYTES), { finishFlush: constants.Z_FULL_FLUSH });
  const data = Buffer.concat([...Array.from({ length: ZIP_BLOCKS }, () => block), Buffer.from([0x03, 0x00])]);
  const name = Buffer.from("bomb.bin");
  // Version, flags, deflated, time and date, checksum, packed and unpacked size, length of the name, nothing extra.
  const about = Buffer.alloc(26);
  about.writeUInt16LE(20, 0);
  about.writeUInt16LE(8, 4);
  about.writeUInt16LE(0x21, 8);
  about.writeUInt32LE(data.length, 14);
  about.writeUInt32LE(ZIP_BLOCKS * BLOCK_BYTES, 18);
  about.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04"), about, name, data]);
  const central = Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), about, Buffer.alloc(14), name]);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(1, 4);
  end.writeUInt16LE(1, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(local.length, 12);
  return Buffer.concat([local, central, Buffer.from("PK\x05\x06"), end]);
}
