//go:build linux

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"espalier.dev/espalier/apps/sandbox-agent/internal/spec"
)

// maxMountOptions is the kernel's page for mount options.
const maxMountOptions = 4095

// mountRoot mounts one overlay of the host's root, masks, image layers and a bounded writable layer (as root).
func mountRoot(launch *spec.Launch, volume, root string) error {
	mask := masks{directory: filepath.Join(volume, "mask"), opaque: "trusted.overlay.opaque"}
	upper, work, err := writable(launch, volume, root, mask.directory)
	if err != nil {
		return err
	}
	if err := mask.write(launch.Exposed, launch.Masks); err != nil {
		return fmt.Errorf("LAUNCH_MASK: %w", err)
	}
	lower := []string{mask.directory, "/"}
	if len(launch.Layers) > 0 {
		if lower, err = baseBelowLayers(launch.Layers, lower, filepath.Join(volume, "base")); err != nil {
			return fmt.Errorf("LAUNCH_OVERLAY: the machine's root below image layers: %w", err)
		}
	}
	if err := overlay(lower, upper, work, root, ""); err != nil {
		return fmt.Errorf("LAUNCH_OVERLAY: %w", err)
	}
	return ensureFolders(launch, root)
}

// baseBelowLayers mounts the machine's root, masked, as a read-only overlay of its own. Layers are folders of that same
// root, and the kernel refuses layers of which one contains another; a mounted overlay contains nothing of it.
func baseBelowLayers(layers, base []string, target string) ([]string, error) {
	if err := os.Mkdir(target, 0o755); err != nil {
		return nil, err
	}
	options := "lowerdir=" + strings.Join([]string{escape(base[0]), escape(base[1])}, ":")
	if err := syscall.Mount("overlay", target, "overlay", syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		return nil, err
	}
	return append(append([]string{}, layers...), target), nil
}

// mountTopLevels mounts one overlay per top-level folder: in a user namespace an overlay over the whole root is
// refused, because its sub-mounts are locked.
func mountTopLevels(launch *spec.Launch, volume, root string) error {
	if launch.Build() {
		return fmt.Errorf("LAUNCH_ROOTLESS: images can be built by root only")
	}
	mask := masks{directory: filepath.Join(volume, "mask"), opaque: "user.overlay.opaque"}
	upper, work, err := writable(launch, volume, root, mask.directory)
	if err != nil {
		return err
	}
	if err := mask.write(launch.Exposed, launch.Masks); err != nil {
		return fmt.Errorf("LAUNCH_MASK: %w", err)
	}
	shown := map[string]bool{}
	for name := range shownTopLevels {
		shown[name] = true
	}
	for _, name := range launch.Exposed {
		shown[strings.Trim(name, "/")] = true
	}
	for name := range shown {
		if err := mountTopLevel(launch, name, mask.directory, upper, work, root); err != nil {
			return fmt.Errorf("LAUNCH_OVERLAY: /%s: %w", name, err)
		}
	}
	entries, err := os.ReadDir(mask.directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && entry.IsDir() && !shown[entry.Name()] {
			target := filepath.Join(root, entry.Name())
			if err := os.Mkdir(target, 0o755); err != nil {
				return err
			}
			if err := os.Chmod(target, info.Mode()); err != nil {
				return err
			}
		}
	}
	return ensureFolders(launch, root)
}

func mountTopLevel(launch *spec.Launch, name, mask, upper, work, root string) error {
	host, target := "/"+name, filepath.Join(root, name)
	info, err := os.Lstat(host)
	if err != nil {
		return nil
	}
	if info.Mode()&os.ModeSymlink != 0 {
		link, err := os.Readlink(host)
		if err != nil {
			return err
		}
		return os.Symlink(link, target)
	}
	lower := []string{}
	for _, layer := range append(append([]string{}, launch.Layers...), mask) {
		if part := filepath.Join(layer, name); isFolder(part) {
			lower = append(lower, part)
		}
	}
	partUpper, partWork := filepath.Join(upper, name), filepath.Join(work, name)
	for _, folder := range []string{target, partUpper, partWork} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	return overlay(append(lower, host), partUpper, partWork, target, ",userxattr")
}

func writable(launch *spec.Launch, volume string, folders ...string) (upper, work string, err error) {
	upper, work = filepath.Join(volume, "upper"), filepath.Join(volume, "work")
	if launch.Build() {
		upper, work = launch.KeepUpper, launch.KeepWork
	}
	for _, folder := range append(folders, upper, work) {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", "", fmt.Errorf("LAUNCH_DISK: %w", err)
		}
	}
	return upper, work, nil
}

func overlay(lower []string, upper, work, target, more string) error {
	escaped := make([]string, len(lower))
	for index, path := range lower {
		escaped[index] = escape(path)
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s%s",
		strings.Join(escaped, ":"), escape(upper), escape(work), more)
	if len(options) > maxMountOptions {
		return fmt.Errorf("%d layers need %d bytes of mount options, more than %d", len(lower), len(options), maxMountOptions)
	}
	return syscall.Mount("overlay", target, "overlay", syscall.MS_NOSUID|syscall.MS_NODEV, options)
}

func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(path)
}

// ensureFolders makes the mount points and the working directory where the image has none.
func ensureFolders(launch *spec.Launch, root string) error {
	folders := []string{"/proc", "/dev"}
	if launch.Workdir != "" {
		folders = append(folders, launch.Workdir)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return fmt.Errorf("LAUNCH_DISK: %w", err)
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
