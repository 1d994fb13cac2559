//! Images as models take them: in a format that they know, not too wide, not too large. They are decoded here, behind the boundary: a
//! picture may come from anybody.

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::imageops::FilterType;
use image::{ExtendedColorType, ImageEncoder, ImageReader, Limits, RgbaImage};
use std::io::Cursor;

/// Pixels of a side.
const MAX_SIDE: u32 = 2000;
/// Bytes of an image in base64.
const MAX_BASE64: usize = 5 << 20;
/// Pixels of a side that is decoded at all, and bytes that decoding may take: a small file can hold a very large picture.
const MAX_DECODED_SIDE: u32 = 20_000;
const MAX_DECODED: u64 = 120 << 20;
const SHRINKS: usize = 32;
const SHRINK: f64 = 0.75;
const QUALITIES: [u8; 5] = [80, 85, 70, 55, 40];

/// An image that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    pub mime: String,
    pub data: Vec<u8>,
}

/// Gives an image that fits; one that does already comes back byte by byte.
///
/// # Errors
/// What cannot be read, or made small enough.
pub fn fit(mime: &str, data: &[u8]) -> Result<Fitted, String> {
    let (width, height) =
        reader(data)?.into_dimensions().map_err(|e| format!("it is no image that can be read ({e})"))?;
    if width <= MAX_SIDE && height <= MAX_SIDE && base64(data.len()) <= MAX_BASE64 {
        return Ok(Fitted { mime: mime.to_owned(), data: data.to_vec() });
    }
    let image = reader(data)?.decode().map_err(|e| format!("it is no image that can be read ({e})"))?;
    shrink(image.into_rgba8()).ok_or_else(|| "it cannot be made small enough".into())
}

fn reader(data: &[u8]) -> Result<ImageReader<Cursor<&[u8]>>, String> {
    let guessed = ImageReader::new(Cursor::new(data)).with_guessed_format();
    let mut reader = guessed.map_err(|e| format!("it cannot be read ({e})"))?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_DECODED_SIDE);
    limits.max_image_height = Some(MAX_DECODED_SIDE);
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    Ok(reader)
}

fn base64(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// First to the allowed sides, then smaller and smaller; each size without loss before with it. All of it in one form of pixels: code
/// for each of a dozen forms would be most of this component.
fn shrink(image: RgbaImage) -> Option<Fitted> {
    let (width, height) = within(image.dimensions());
    let mut current = if (width, height) == image.dimensions() { image } else { resized(&image, width, height) };
    for _ in 0..SHRINKS {
        if let Some(fitted) = encode(&current) {
            return Some(fitted);
        }
        let smaller = |side: u32| (f64::from(side) * SHRINK) as u32;
        let (width, height) = (smaller(current.width()), smaller(current.height()));
        if width == 0 || height == 0 {
            return None;
        }
        current = resized(&current, width, height);
    }
    None
}

/// The sides that are allowed, in the same proportion.
fn within((width, height): (u32, u32)) -> (u32, u32) {
    let longer = width.max(height).max(MAX_SIDE);
    let side = |side: u32| ((f64::from(side) * f64::from(MAX_SIDE) / f64::from(longer)).round() as u32).max(1);
    (side(width), side(height))
}

fn resized(image: &RgbaImage, width: u32, height: u32) -> RgbaImage {
    image::imageops::resize(image, width, height, FilterType::Triangle)
}

fn encode(image: &RgbaImage) -> Option<Fitted> {
    let (width, height) = image.dimensions();
    let rgb: Vec<u8> = image.pixels().flat_map(|p| [p.0[0], p.0[1], p.0[2]]).collect();
    let is_opaque = image.pixels().all(|p| p.0[3] == u8::MAX);
    let (pixels, colour) =
        if is_opaque { (&rgb, ExtendedColorType::Rgb8) } else { (image.as_raw(), ExtendedColorType::Rgba8) };
    let mut data = Vec::new();
    let encoded = PngEncoder::new(&mut data).write_image(pixels, width, height, colour);
    if encoded.is_ok() && base64(data.len()) <= MAX_BASE64 {
        return Some(Fitted { mime: "image/png".into(), data });
    }
    QUALITIES.iter().find_map(|quality| {
        let mut data = Vec::new();
        let encoder = JpegEncoder::new_with_quality(&mut data, *quality);
        let encoded = encoder.write_image(&rgb, width, height, ExtendedColorType::Rgb8);
        (encoded.is_ok() && base64(data.len()) <= MAX_BASE64).then_some(Fitted { mime: "image/jpeg".into(), data })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbImage};

    fn png(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
        let image = RgbImage::from_fn(width, height, |x, y| Rgb(pixel(x, y)));
        let mut data = Vec::new();
        image.write_with_encoder(PngEncoder::new(&mut data)).unwrap();
        data
    }

    fn sides(fitted: &Fitted) -> (u32, u32) {
        reader(&fitted.data).unwrap().into_dimensions().unwrap()
    }

    #[test]
    fn what_fits_is_not_touched() {
        let data = png(40, 30, |_, _| [1, 2, 3]);
        assert_eq!(fit("image/png", &data), Ok(Fitted { mime: "image/png".into(), data: data.clone() }));
    }

    #[test]
    fn what_is_too_wide_is_made_smaller() {
        let fitted = fit("image/png", &png(2500, 100, |_, _| [9, 9, 9])).unwrap();
        assert_eq!((fitted.mime.as_str(), sides(&fitted)), ("image/png", (2000, 80)));
    }

    /// Noise does not compress: only a smaller or lossier picture fits.
    #[test]
    fn what_is_too_large_is_made_lossy() {
        let noise = |x: u32, y: u32| {
            let n = x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(2_246_822_519) ^ (x * y).wrapping_mul(3_266_489_917);
            [(n >> 8) as u8, (n >> 16) as u8, (n >> 24) as u8]
        };
        let data = png(1500, 1500, noise);
        assert!(base64(data.len()) > MAX_BASE64, "the test's own image must be too large");
        let fitted = fit("image/png", &data).unwrap();
        assert!(base64(fitted.data.len()) <= MAX_BASE64);
        assert_eq!(fitted.mime, "image/jpeg");
    }

    #[test]
    fn what_is_no_image_says_so() {
        for data in [&b"\x89PNG\r\n"[..], b"text", b""] {
            assert!(fit("image/png", data).unwrap_err().contains("read"), "{data:?}");
        }
    }
}
